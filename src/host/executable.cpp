// One call: buffers first, then the steps. Nothing but buffers is allocated.
#include "host/executable.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "graph/dispatch.h"
#include "kernels/threads.h"

namespace nx::host {

using detail::Storage;
using graph::CallFrame;
using graph::InputMode;

namespace {

/// Which operand slots of a loop lie where one of its results is written.
std::vector<kernels::SlotAlias> aliases_of(const PlannedStep& step, const Plan& plan) {
  // A paired leaf is in its output's buffer.
  const auto at = [&](ValueIndex v) {
    Location location = plan.values[v].at;
    if (location.block < plan.pair_of_parameter.size())
      if (const std::int32_t output = plan.pair_of_parameter[location.block]; output >= 0)
        location.block = plan.output_block(static_cast<std::size_t>(output));
    return location;
  };
  std::vector<kernels::SlotAlias> aliases;
  for (std::uint32_t o = 0; o < step.out.size(); ++o)
    for (std::uint32_t i = 0; i < step.in.size(); ++i)
      if (at(step.out[o]) == at(step.in[i])) aliases.push_back({o, i});
  return aliases;
}

constexpr double kCopiedBytesPerUs = 8e3;

void copy_bytes(void* to, const void* from, std::size_t bytes, int threads) {
  constexpr std::size_t kPart = 64 * 1024;
  const auto parts = static_cast<std::int64_t>((bytes + kPart - 1) / kPart);
  kernels::parallel_for(parts, threads, [&](std::int64_t begin, std::int64_t end) {
    const std::size_t first = static_cast<std::size_t>(begin) * kPart;
    std::memcpy(static_cast<std::byte*>(to) + first, static_cast<const std::byte*>(from) + first,
                std::min(static_cast<std::size_t>(end) * kPart, bytes) - first);
  });
}

}  // namespace

HostExecutable::HostExecutable(const graph::Graph& graph, Plan plan)
    : pair_of_output_(plan.pair_of_output),
      output_bytes_(plan.output_bytes),
      pairs_(plan.pairs),
      workspace_(plan.workspace),
      memory_(plan.memory) {
  for (const PlannedStep& planned : plan.steps)
    if (planned.kind == StepKind::kLoop)
      programs_.push_back(planned.loop.builder.finish(aliases_of(planned, plan)));
  text_ = describe(graph, plan, programs_);
  std::uint32_t loop = 0;
  for (PlannedStep& planned : plan.steps) {
    Step step;
    step.kind = planned.kind;
    step.inputs = static_cast<std::uint32_t>(planned.in.size());
    step.outputs = static_cast<std::uint32_t>(planned.out.size());
    step.first = static_cast<std::uint32_t>(locations_.size());
    for (const ValueIndex v : planned.in) locations_.push_back(plan.values[v].at);
    for (const ValueIndex v : planned.out) locations_.push_back(plan.values[v].at);
    step.has_scratch = planned.scratch >= 0;
    if (step.has_scratch)
      locations_.push_back(plan.values[static_cast<std::size_t>(planned.scratch)].at);
    switch (planned.kind) {
      case StepKind::kLoop:
        step.index = loop++;
        step.cost_us = programs_[step.index].cost_us();
        break;
      case StepKind::kKernel:
        step.index = static_cast<std::uint32_t>(kernels_.size());
        step.cost_us = planned.kernel->cost_us();
        kernels_.push_back(std::move(planned.kernel));
        break;
      case StepKind::kCopy:
        step.bytes = plan.values[planned.in[0]].bytes;
        step.cost_us = static_cast<double>(step.bytes) / kCopiedBytesPerUs;
        break;
    }
    step.may_be_parallel = step.cost_us >= kernels::kParallelAboveUsAwake;
    may_be_parallel_ |= step.cost_us >= kernels::kParallelAboveUs;
    most_locations_ = std::max(most_locations_, locations_.size() - step.first);
    steps_.push_back(step);
  }
  for (std::uint32_t p = 0; p < plan.pair_of_parameter.size(); ++p)
    if (plan.pair_of_parameter[p] < 0) frees_.push_back({plan.values[p].last, p});
  std::stable_sort(frees_.begin(), frees_.end(),
                   [](const Free& a, const Free& b) { return a.after < b.after; });
}

HostExecutable::~HostExecutable() {
  for (Storage* const workspace : reserved_) workspace->release();
}

void HostExecutable::reserve() const {
  // Calls that failed after reserving leave theirs behind; more than a few are not kept.
  constexpr std::size_t kMostReserved = 8;
  if (workspace_ == 0) return;
  {
    const std::lock_guard lock(mutex_);
    if (reserved_.size() >= kMostReserved) return;
    reserved_.reserve(kMostReserved);
  }
  Storage* const workspace = graph::dispatch().allocate(workspace_);
  const std::lock_guard lock(mutex_);
  reserved_.push_back(workspace);
}

Storage* HostExecutable::take_workspace() const {
  {
    const std::lock_guard lock(mutex_);
    if (!reserved_.empty()) {
      Storage* const workspace = reserved_.back();
      reserved_.pop_back();
      return workspace;
    }
  }
  return graph::dispatch().allocate(workspace_);
}

/// Releases what a call has allocated so far, unless it is kept.
struct HostExecutable::Buffers {
  explicit Buffers(CallFrame& call) : frame(call) {}
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;
  ~Buffers() {
    if (workspace != nullptr) workspace->release();
    if (!kept)
      for (std::size_t o = 0; o < made; ++o)
        if (frame.outputs[o] != nullptr) std::exchange(frame.outputs[o], nullptr)->release();
  }
  CallFrame& frame;
  Storage* workspace = nullptr;
  std::size_t made = 0;
  bool kept = false;
};

void HostExecutable::run(CallFrame& frame) const {
  const graph::Dispatch& dispatch = graph::dispatch();
  const std::size_t inputs = frame.inputs.size(), outputs = output_bytes_.size();
  InlineVector<std::byte*, 32> blocks(inputs + outputs + 1, nullptr);
  for (std::size_t i = 0; i < inputs; ++i)
    blocks[i] = static_cast<std::byte*>(frame.inputs[i]->data());

  const auto takes_over = [&](std::size_t output) {
    const std::int32_t leaf = pair_of_output_[output];
    return leaf >= 0 && frame.modes[static_cast<std::size_t>(leaf)] == InputMode::kDonated;
  };
  Buffers buffers(frame);
  for (std::size_t o = 0; o < outputs; ++o) {
    frame.outputs[o] = takes_over(o) ? nullptr : dispatch.allocate(output_bytes_[o]);
    buffers.made = o + 1;
  }
  if (workspace_ != 0) {
    buffers.workspace = take_workspace();
    blocks[inputs + outputs] = static_cast<std::byte*>(buffers.workspace->data());
  }
  // From here on donated leaves are used up.
  for (std::size_t o = 0; o < outputs; ++o) {
    const std::int32_t leaf = pair_of_output_[o];
    if (takes_over(o)) {
      blocks[inputs + o] = blocks[static_cast<std::size_t>(leaf)];
      frame.outputs[o] =
          dispatch.take_over(*frame.inputs[static_cast<std::size_t>(leaf)], output_bytes_[o]);
      ++frame.aliased;
    } else {
      blocks[inputs + o] = static_cast<std::byte*>(frame.outputs[o]->data());
      if (leaf >= 0) ++frame.copied;
    }
  }
  run_steps(frame, blocks.data());
  for (const Free& leaf : frees_) frame.freed += frame.modes[leaf.parameter] == InputMode::kDonated;
  buffers.kept = true;
}

void HostExecutable::run_steps(const CallFrame& frame, std::byte* const* blocks) const {
  const int threads = may_be_parallel_ ? kernels::available_threads() : 1;
  const bool frees = std::any_of(frees_.begin(), frees_.end(), [&](const Free& leaf) {
    return frame.modes[leaf.parameter] == InputMode::kDonated;
  });
  if (!frees) {
    for (const Step& step : steps_) run_step(step, blocks, threads);
    return;
  }
  std::size_t next = 0;
  const auto free_until = [&](int step) {
    for (; next < frees_.size() && frees_[next].after <= step; ++next)
      if (frame.modes[frees_[next].parameter] == InputMode::kDonated)
        frame.inputs[frees_[next].parameter]->free_memory();
  };
  free_until(-1);
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    run_step(steps_[s], blocks, threads);
    free_until(static_cast<int>(s));
  }
}

void HostExecutable::run_step(const Step& step, std::byte* const* blocks, int threads) const {
  InlineVector<void*, 32> pointers(step.inputs + step.outputs + 1, nullptr);
  const std::size_t count = step.inputs + step.outputs + (step.has_scratch ? 1u : 0u);
  for (std::size_t i = 0; i < count; ++i) {
    const Location& at = locations_[step.first + i];
    pointers[i] = blocks[at.block] + at.offset;
  }
  void* const* const out = pointers.data() + step.inputs;
  void* const scratch = out[step.outputs];
  const int team = step.may_be_parallel ? kernels::threads_for(step.cost_us, threads) : 1;
  switch (step.kind) {
    case StepKind::kLoop:
      programs_[step.index].run(pointers.data(), out, scratch, team, nullptr);
      break;
    case StepKind::kKernel:
      kernels_[step.index]->run({pointers.data(), out, scratch, nullptr, team});
      break;
    case StepKind::kCopy:
      if (pointers[0] != out[0]) copy_bytes(out[0], pointers[0], step.bytes, team);
      break;
  }
}

std::size_t HostExecutable::own_bytes() const {
  std::size_t bytes = sizeof(*this) + text_.size() + steps_.size() * sizeof(Step) +
                      locations_.size() * sizeof(Location);
  for (const kernels::TileProgram& program : programs_) bytes += program.own_bytes();
  return bytes + kernels_.size() * 1024;  // what a prepared kernel holds is not known exactly
}

}  // namespace nx::host
