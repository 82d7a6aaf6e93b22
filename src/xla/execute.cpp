// The call. It is as short as it can be: a jitted scalar addition costs what stands here.
#include "xla/execute.h"

#include <fmt/format.h>

#include <memory>

#include "nx/error.h"
#include "xla/pjrt.h"

namespace nx::xla {
namespace {

constexpr const char* kOperation = "xla execute";
constexpr std::size_t kInlineOutputs = 32;

[[noreturn]] void refuse_count(std::size_t expected, std::size_t given) {
  throw InternalError(kOperation,
                      fmt::format("places for results: expected {}, got {}", expected, given));
}

}  // namespace

void run(const Program& program, std::span<PJRT_Buffer* const> inputs, std::span<Buffer> outputs,
         const RunOptions& options) {
  Client& client = program.client();
  client.check_process(kOperation);
  if (outputs.size() != program.output_count()) {
    refuse_count(program.output_count(), outputs.size());
  }
  PJRT_Buffer* few[kInlineOutputs];
  std::unique_ptr<PJRT_Buffer*[]> many;
  PJRT_Buffer** results = few;
  if (outputs.size() > kInlineOutputs) {
    many = std::make_unique<PJRT_Buffer*[]>(outputs.size());
    results = many.get();
  }

  auto execute_options = make_args<PJRT_ExecuteOptions>();
  execute_options.non_donatable_input_indices = options.protected_inputs.data();
  execute_options.num_non_donatable_input_indices = options.protected_inputs.size();
  PJRT_Buffer* const* const arguments = inputs.data();
  PJRT_Event* done = nullptr;
  auto args = make_args<PJRT_LoadedExecutable_Execute_Args>();
  args.executable = program.handle();
  args.options = &execute_options;
  args.argument_lists = &arguments;
  args.num_devices = 1;
  args.num_args = inputs.size();
  args.output_lists = &results;
  // Asking for the event costs; the results carry the same errors to whoever reads them.
  const bool waits = options.completion == Completion::kWait || !program.has_run();
  args.device_complete_events = waits ? &done : nullptr;
  const PJRT_Api& api = client.api();
  check(api, api.PJRT_LoadedExecutable_Execute(&args), kOperation);

  if (!waits) {
    for (std::size_t i = 0; i < outputs.size(); ++i) outputs[i] = Buffer(client, results[i]);
    return;
  }
  // Owned before waiting: the wait may throw, and the results must not be lost then.
  std::unique_ptr<Buffer[]> owned = std::make_unique<Buffer[]>(outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) owned[i] = Buffer(client, results[i]);
  Event(api, done).wait(kOperation);
  if (!program.has_run()) program.end_first_run();
  for (std::size_t i = 0; i < outputs.size(); ++i) outputs[i] = std::move(owned[i]);
}

}  // namespace nx::xla
