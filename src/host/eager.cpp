// Eager execution: elementwise operations tile by tile without any preparation; reductions and
// kernels through a bounded cache of what was prepared for their shapes.
#include "host/eager.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "graph/dispatch.h"
#include "host/access.h"
#include "host/loop.h"
#include "host/prepared_cache.h"
#include "kernels/strided.h"
#include "kernels/threads.h"
#include "nx/error.h"
#include "transform/literal.h"

namespace nx::host {
namespace {

using graph::OpRow;
using kernels::KernelStatus;
using kernels::StridedView;

constexpr std::size_t kMaxOperands = 8;
constexpr std::int64_t kMostTile = kernels::kTileElements / 2;

/// How an elementwise operand is read.
struct Operand {
  const std::byte* data = nullptr;
  std::size_t element = 0;
  enum class Kind : std::uint8_t {
    kInOrder,
    kScalar,
    kRow,  // the same `view.dims.back()` elements over and over, whole periods to a tile
    kStrided,
  } kind = Kind::kInOrder;
  StridedView view;  // collapsed
};

/// The view of `dims` as an operand of a result of `to`, repeated along axes of size 1.
StridedView repeated(const Dims& dims, const Dims& to) {
  const Dims own = kernels::row_major_strides(dims);
  StridedView view{to, Dims(to.size()), 0};
  const std::size_t shift = to.size() - dims.size();
  for (std::size_t a = 0; a < dims.size(); ++a) view.strides[shift + a] = dims[a] == 1 ? 0 : own[a];
  return kernels::collapse(view);
}

struct ElementwiseCall {
  kernels::TileKernel kernel = nullptr;
  std::span<const Operand> operands;
  std::byte* out = nullptr;
  std::size_t out_element = 0;
  std::int64_t tile = kMostTile;
  KernelStatus* status = nullptr;
};

/// Fills what stays the same from tile to tile.
void fill_buffers(const ElementwiseCall& call, std::int64_t count,
                  std::byte (*buffers)[kMostTile * 16]) {
  for (std::size_t k = 0; k < call.operands.size(); ++k) {
    const Operand& operand = call.operands[k];
    if (operand.kind == Operand::Kind::kScalar) {
      kernels::fill_run(operand.element, operand.data, count, buffers[k]);
    } else if (operand.kind == Operand::Kind::kRow) {
      const std::int64_t period = operand.view.dims.back();
      for (std::int64_t at = 0; at < count; at += period)
        std::memcpy(buffers[k] + static_cast<std::size_t>(at) * operand.element, operand.data,
                    static_cast<std::size_t>(std::min(period, count - at)) * operand.element);
    }
  }
}

/// Positions [begin, end), a tile at a time; `begin` is a multiple of the tile.
void run_tiles(const ElementwiseCall& call, std::int64_t begin, std::int64_t end) {
  alignas(64) std::byte buffers[kMaxOperands][kMostTile * 16];
  const void* in[kMaxOperands];
  fill_buffers(call, std::min(call.tile, end - begin), buffers);
  for (std::int64_t at = begin; at < end; at += call.tile) {
    const std::int64_t count = std::min(call.tile, end - at);
    for (std::size_t k = 0; k < call.operands.size(); ++k) {
      const Operand& operand = call.operands[k];
      in[k] = buffers[k];
      if (operand.kind == Operand::Kind::kInOrder) {
        in[k] = operand.data + static_cast<std::size_t>(at) * operand.element;
      } else if (operand.kind == Operand::Kind::kStrided) {
        const void* const run =
            kernels::contiguous_run(operand.view, operand.element, operand.data, at, count);
        if (run) in[k] = run;
        else
          kernels::gather_run(operand.view, operand.element, operand.data, at, count, buffers[k]);
      }
    }
    call.kernel({in, call.out + static_cast<std::size_t>(at) * call.out_element,
                 static_cast<std::size_t>(count), call.status});
  }
}

[[noreturn]] void throw_unsupported(const OpRow& row, std::span<const EagerInput> in, DType out) {
  std::string names;
  for (const EagerInput& input : in)
    names += (names.empty() ? "" : ", ") + std::string(name_of(input.type));
  throw UnsupportedError(
      row.name, fmt::format("the host compiler has no kernel for {} -> {}", names, name_of(out)));
}

int team(double cost_us) {
  return cost_us < kernels::kParallelAboveUs
             ? 1
             : kernels::threads_for(cost_us, kernels::available_threads());
}

void run_prepared(const OpRow& row, std::span<const EagerInput> in, const graph::Attrs& attrs,
                  std::span<const EagerOutput> out, KernelStatus* status) {
  const std::shared_ptr<const Prepared> prepared = find_prepared(row, in, attrs, out);
  InlineVector<const void*, 8> from;
  InlineVector<void*, 8> to;
  for (const EagerInput& input : in) from.push_back(input.data);
  for (const EagerOutput& output : out) to.push_back(output.data);
  detail::Storage* scratch = nullptr;
  const std::size_t bytes = prepared->scratch_bytes();
  if (bytes != 0) scratch = graph::dispatch().allocate(bytes);
  void* const memory = scratch != nullptr ? scratch->data() : nullptr;
  const int threads = team(prepared->cost_us());
  if (prepared->kernel != nullptr)
    prepared->kernel->run({from.data(), to.data(), memory, status, threads});
  else prepared->program.run(from.data(), to.data(), memory, threads, status);
  if (scratch != nullptr) scratch->release();
}

void run_reduce(const OpRow& row, const graph::ReduceRule& rule, const EagerInput& in,
                const graph::Attrs& attrs, const EagerOutput& out, KernelStatus* status) {
  const ReduceShape shape = reduce_shape(in.dims, attrs.as<graph::ReduceAttrs>().axes);
  const std::size_t element = byte_size_of(out.type);
  const std::size_t bytes = static_cast<std::size_t>(shape.kept) * element;
  if (bytes == 0) return;
  if (shape.form == ReduceForm::kNone) {
    std::memcpy(out.data, in.data, bytes);
  } else if (shape.form == ReduceForm::kEmpty) {
    alignas(16) std::byte identity[16] = {};
    transform::write_number(rule.identity(out.type), out.type, identity);
    kernels::fill_run(element, identity, shape.kept, out.data);
  } else {
    run_prepared(row, {&in, 1}, attrs, {&out, 1}, status);
  }
}

void run_view(const graph::ViewRule& rule, const EagerInput& in, const graph::Attrs& attrs,
              const EagerOutput& out) {
  const graph::ViewRule::View view = rule.view({in.type, in.dims}, {out.type, out.dims}, attrs);
  const std::size_t element = byte_size_of(out.type);
  const kernels::StridedCopy copy(element, out.dims, kernels::row_major_strides(out.dims),
                                  view.strides);
  copy.run(
      out.data,
      static_cast<const std::byte*>(in.data) + view.offset * static_cast<std::int64_t>(element),
      team(copy.cost_us()));
}

}  // namespace

void run_eager_elementwise(const OpRow& row, std::span<const EagerInput> in, const EagerOutput& out,
                           KernelStatus* status) {
  const auto& rule = *row.host_as<graph::ElementwiseRule>();
  InlineVector<DType, kMaxOperands> types;
  for (const EagerInput& input : in) types.push_back(input.type);
  const kernels::TileKernel kernel = rule.kernel(types, out.type);
  if (kernel == nullptr) throw_unsupported(row, in, out.type);
  if (in.size() > kMaxOperands)
    throw UnsupportedError(row.name, fmt::format("at most {} operands", kMaxOperands));

  const std::int64_t count = element_count(out.dims);
  if (count == 0) return;
  // Reading and writing memory costs something even when the operation is cheap.
  const int threads = team(static_cast<double>(count) * (rule.cost_ns + 0.1) / 1e3);
  if (threads == 1 && std::all_of(in.begin(), in.end(), [&](const EagerInput& input) {
        return input.dims == out.dims;
      })) {
    const void* addresses[kMaxOperands];
    for (std::size_t k = 0; k < in.size(); ++k) addresses[k] = in[k].data;
    return kernel({addresses, out.data, static_cast<std::size_t>(count), status});
  }
  Operand operands[kMaxOperands];
  ElementwiseCall call{kernel,
                       {operands, in.size()},
                       static_cast<std::byte*>(out.data),
                       byte_size_of(out.type),
                       kMostTile,
                       status};
  for (std::size_t k = 0; k < in.size(); ++k) {
    Operand& operand = operands[k];
    operand.data = static_cast<const std::byte*>(in[k].data);
    operand.element = byte_size_of(in[k].type);
    if (in[k].dims == out.dims) continue;
    if (element_count(in[k].dims) == 1) {
      operand.kind = count == 1 ? Operand::Kind::kInOrder : Operand::Kind::kScalar;
      continue;
    }
    operand.kind = Operand::Kind::kStrided;
    operand.view = repeated(in[k].dims, out.dims);
    const StridedView& view = operand.view;
    // A short row fills a buffer once; tiles are then whole rows. One length for all operands.
    if (view.dims.size() == 2 && view.strides[0] == 0 && view.strides[1] == 1 &&
        view.dims[1] <= kMostTile && (call.tile == kMostTile || call.tile % view.dims[1] == 0)) {
      operand.kind = Operand::Kind::kRow;
      call.tile = call.tile / view.dims[1] * view.dims[1];
    }
  }
  if (threads == 1) return run_tiles(call, 0, count);
  const std::int64_t chunk = 8 * call.tile;
  kernels::parallel_for((count + chunk - 1) / chunk, threads,
                        [&](std::int64_t begin, std::int64_t end) {
                          run_tiles(call, begin * chunk, std::min(end * chunk, count));
                        });
}

void run_eager(const OpRow& row, std::span<const EagerInput> in, const graph::Attrs& attrs,
               std::span<const EagerOutput> out, KernelStatus* status) {
  if (row.host_as<graph::ElementwiseRule>()) return run_eager_elementwise(row, in, out[0], status);
  if (const auto* rule = row.host_as<graph::ViewRule>())
    return run_view(*rule, in[0], attrs, out[0]);
  if (const auto* rule = row.host_as<graph::ReduceRule>())
    return run_reduce(row, *rule, in[0], attrs, out[0], status);
  if (const auto* rule = row.host_as<graph::GenerateRule>()) {
    const auto count = static_cast<std::size_t>(element_count(out[0].dims));
    if (count > 0) rule->fill({out[0].type, out[0].dims}, attrs, 0, count, out[0].data);
    return;
  }
  if (row.host_as<graph::KernelRule>()) return run_prepared(row, in, attrs, out, status);
  if (row.host_as<graph::RelabelRule>()) {
    const std::size_t bytes =
        static_cast<std::size_t>(element_count(out[0].dims)) * byte_size_of(out[0].type);
    if (bytes != 0) std::memcpy(out[0].data, in[0].data, bytes);
    return;
  }
  throw UnsupportedError(row.name, "cannot be run by itself");
}

}  // namespace nx::host
