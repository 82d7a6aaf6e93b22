// Compiling, and reading back what the compiler decided.
#include "xla/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "nx/error.h"
#include "xla/buffer.h"
#include "xla/pjrt.h"
#include "xla/proto.h"

namespace nx::xla {
namespace {

constexpr const char* kCompile = "xla compile";
constexpr const char* kProgram = "xla program";

// Field numbers of CompileOptionsProto and of the messages within it.
enum OptionField : std::uint32_t { kBuildOptions = 3, kOverrides = 7 };
enum BuildField : std::uint32_t {
  kDeviceOrdinal = 1,
  kReplicas = 4,
  kPartitions = 5,
  kDeviceAssignment = 9,
};
enum OverrideField : std::uint32_t { kText = 1, kFlag = 2, kNumber = 3 };
enum AssignmentField : std::uint32_t {
  kReplicaCount = 1,
  kComputationCount = 2,
  kComputationDevices = 3,
};

// Field numbers of HloModuleProtoWithConfig, HloModuleProto and its alias table.
enum ModuleField : std::uint32_t { kModule = 1, kAliasTable = 8 };
enum AliasField : std::uint32_t { kEntries = 1, kOutputIndex = 1, kParameterNumber = 2 };

std::string encode_assignment(int device_id) {
  ProtoWriter devices;  // of the only computation: one replica
  devices.integer(1, device_id);
  ProtoWriter assignment;
  assignment.integer(kReplicaCount, 1);
  assignment.integer(kComputationCount, 1);
  assignment.bytes(kComputationDevices, devices.text());
  return assignment.text();
}

std::uint32_t as_index(std::uint64_t value) {
  if (value > 0xffffffffu) throw BackendError(kProgram, "an index in the alias table is too large");
  return static_cast<std::uint32_t>(value);
}

// A repeated integer is written one a field or packed; an output index has at most one level here,
// and none for the only result of a program.
Alias read_alias(std::string_view entry) {
  Alias alias;
  ProtoReader reader(entry);
  while (const auto field = reader.next()) {
    if (field->field == kParameterNumber) alias.parameter = as_index(field->number);
    if (field->field != kOutputIndex) continue;
    if (!field->has_bytes) {
      alias.output = as_index(field->number);
      continue;
    }
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < field->bytes.size(); ++i) {
      const auto byte = static_cast<unsigned char>(field->bytes[i]);
      if (i >= 5) throw BackendError(kProgram, "an output index in the alias table is too long");
      value |= static_cast<std::uint64_t>(byte & 0x7f) << (7 * i);
    }
    alias.output = as_index(value);
  }
  return alias;
}

/// A compiler written in C++ may throw through its C interface where it was built to abort.
PJRT_Error* call_compiler(const PJRT_Api& api, PJRT_Client_Compile_Args& args) {
  try {
    return api.PJRT_Client_Compile(&args);
  } catch (const std::exception& error) {
    throw BackendError(kCompile, fmt::format("the plugin threw: {}", error.what()));
  }
}

std::size_t packed_bytes(const graph::TensorType& type) {
  const auto bits = static_cast<std::size_t>(type.count()) *
                    static_cast<std::size_t>(bits_of(type.type));
  return (bits + 7) / 8;
}

}  // namespace

std::string encode_options(const ProgramOptions& options, int device_id) {
  ProtoWriter build;
  build.integer(kDeviceOrdinal, -1);  // the assignment decides
  build.integer(kReplicas, 1);
  build.integer(kPartitions, 1);
  build.bytes(kDeviceAssignment, encode_assignment(device_id));
  ProtoWriter all;
  all.bytes(kBuildOptions, build.text());
  for (const auto& [name, value] : options.overrides) {
    ProtoWriter choice;
    if (const auto* text = std::get_if<std::string>(&value)) choice.bytes(kText, *text);
    if (const auto* flag = std::get_if<bool>(&value)) choice.integer(kFlag, *flag ? 1 : 0);
    if (const auto* number = std::get_if<std::int64_t>(&value)) choice.integer(kNumber, *number);
    ProtoWriter entry;       // an entry of a map: key, value
    entry.bytes(1, name);
    entry.bytes(2, choice.text());
    all.bytes(kOverrides, entry.text());
  }
  return all.text();
}

std::vector<Alias> read_alias_table(std::string_view module) {
  std::vector<Alias> table;
  ProtoReader with_config(module);
  while (const auto part = with_config.next()) {
    if (part->field != kModule || !part->has_bytes) continue;
    ProtoReader fields(part->bytes);
    while (const auto field = fields.next()) {
      if (field->field != kAliasTable || !field->has_bytes) continue;
      ProtoReader entries(field->bytes);
      while (const auto entry = entries.next()) {
        if (entry->field == kEntries && entry->has_bytes) table.push_back(read_alias(entry->bytes));
      }
    }
  }
  std::sort(table.begin(), table.end(),
            [](const Alias& a, const Alias& b) { return a.output < b.output; });
  return table;
}

Program Program::compile(Client& client, std::string_view stablehlo,
                         const ProgramOptions& options) {
  client.check_process(kCompile);
  const PJRT_Api& api = client.api();
  const std::string encoded = encode_options(options, client.device_id(options.device));
  constexpr std::string_view format = "mlir";
  auto program = make_args<PJRT_Program>();
  program.code = const_cast<char*>(stablehlo.data());  // only read
  program.code_size = stablehlo.size();
  program.format = format.data();
  program.format_size = format.size();
  auto args = make_args<PJRT_Client_Compile_Args>();
  args.client = client.handle();
  args.program = &program;
  args.compile_options = encoded.data();
  args.compile_options_size = encoded.size();
  check(api, call_compiler(api, args), kCompile);

  Program compiled;
  compiled.client_ = &client;
  compiled.loaded_ = args.executable;
  client.programs_.fetch_add(1, std::memory_order_relaxed);
  auto inner = make_args<PJRT_LoadedExecutable_GetExecutable_Args>();
  inner.loaded_executable = compiled.loaded_;
  check(api, api.PJRT_LoadedExecutable_GetExecutable(&inner), kCompile);
  compiled.executable_ = inner.executable;
  compiled.read_outputs();
  return compiled;
}

void Program::read_outputs() {
  const PJRT_Api& api = client_->api();
  auto types = make_args<PJRT_Executable_OutputElementTypes_Args>();
  types.executable = executable_;
  check(api, api.PJRT_Executable_OutputElementTypes(&types), kCompile);
  auto dims = make_args<PJRT_Executable_OutputDimensions_Args>();
  dims.executable = executable_;
  check(api, api.PJRT_Executable_OutputDimensions(&dims), kCompile);
  if (dims.num_outputs != types.num_output_types) {
    throw BackendError(kCompile, fmt::format("the plugin gives {} types for {} outputs",
                                             types.num_output_types, dims.num_outputs));
  }
  const std::int64_t* next = dims.dims;
  outputs_.reserve(dims.num_outputs);
  for (std::size_t i = 0; i < dims.num_outputs; ++i) {
    graph::TensorType type;
    type.type = dtype_of_pjrt(types.output_types[i], kCompile);
    type.dims = Dims(next, next + dims.dim_sizes[i]);
    next += dims.dim_sizes[i];
    outputs_.push_back(std::move(type));
  }
}

void Program::destroy() noexcept {
  client_->programs_.fetch_sub(1, std::memory_order_relaxed);
  const PJRT_Api& api = client_->api();
  auto inner = make_args<PJRT_Executable_Destroy_Args>();
  inner.executable = std::exchange(executable_, nullptr);
  auto loaded = make_args<PJRT_LoadedExecutable_Destroy_Args>();
  loaded.executable = std::exchange(loaded_, nullptr);
  if (client_->is_foreign_process()) {
    ProcessGuard::leave_behind(inner.executable);
    ProcessGuard::leave_behind(loaded.executable);
    return;
  }
  if (inner.executable != nullptr) discard(api, api.PJRT_Executable_Destroy(&inner));
  discard(api, api.PJRT_LoadedExecutable_Destroy(&loaded));
}

void Program::end_first_run() const {
  Client::end_at_exit();
  has_run_.store(true, std::memory_order_relaxed);
}

MemoryStats Program::memory() const {
  client_->check_process(kProgram);
  const PJRT_Api& api = client_->api();
  auto args = make_args<PJRT_Executable_GetCompiledMemoryStats_Args>();
  args.executable = executable_;
  check(api, api.PJRT_Executable_GetCompiledMemoryStats(&args), kProgram);
  MemoryStats stats;
  stats.arguments = static_cast<std::size_t>(args.argument_size_in_bytes);
  stats.results = static_cast<std::size_t>(args.output_size_in_bytes);
  stats.aliased = static_cast<std::size_t>(args.alias_size_in_bytes);
  stats.temporaries = static_cast<std::size_t>(args.temp_size_in_bytes);
  stats.code = static_cast<std::size_t>(args.generated_code_size_in_bytes);
  // Several results come as a tuple, whose table of pointers is counted with them. It is taken off
  // only where the sum shows that it was counted.
  const std::size_t table = outputs_.size() > 1 ? 8 * outputs_.size() : 0;
  std::size_t results = 0;
  for (const graph::TensorType& type : outputs_) results += packed_bytes(type);
  if (stats.results == results + table) stats.results = results;
  return stats;
}

std::string Program::optimized_module() const {
  client_->check_process(kProgram);
  const PJRT_Api& api = client_->api();
  auto program = make_args<PJRT_Program>();
  auto args = make_args<PJRT_Executable_OptimizedProgram_Args>();
  args.executable = executable_;
  args.program = &program;
  check(api, api.PJRT_Executable_OptimizedProgram(&args), kProgram);  // tells the size
  std::string module(program.code_size, '\0');
  program.code = module.data();
  check(api, api.PJRT_Executable_OptimizedProgram(&args), kProgram);
  const std::string_view format(program.format, program.format_size);
  if (format != "hlo_with_config") {
    throw BackendError(kProgram, fmt::format("the compiled module comes in a format unknown to us; "
                                             "expected hlo_with_config, got {}",
                                             format));
  }
  return module;
}

std::vector<Alias> Program::alias_table() const { return read_alias_table(optimized_module()); }

}  // namespace nx::xla
