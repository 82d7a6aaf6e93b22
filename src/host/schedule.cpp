// The order of the steps. A pair (leaf, output) asks that every other reader of the leaf runs
// before the step that writes the output; where that cannot be, the output is computed elsewhere
// and copied when the leaf is free.
#include <algorithm>
#include <functional>

#include "host/plan.h"

namespace nx::host {
namespace {

class Scheduler {
 public:
  explicit Scheduler(Plan& plan) : plan_(plan) {
    for (int s = 0; s < static_cast<int>(plan.steps.size()); ++s) add_step(s);
    for (int s = 0; s < static_cast<int>(plan.steps.size()); ++s)
      for (const ValueIndex value : plan_.steps[s].in)
        if (maker_[value] >= 0) add_edge(maker_[value], s);
  }

  void run() {
    // Pairs come best first, so that the in-place ones get the order they need.
    for (const graph::DonationPair& pair : plan_.pairs) serve(pair);
    apply_order();
  }

 private:
  void add_step(int s) {
    after_.resize(plan_.steps.size());
    maker_.resize(plan_.values.size(), -1);
    readers_.resize(plan_.values.size());
    for (const ValueIndex value : plan_.steps[s].out) maker_[value] = s;
    for (const ValueIndex value : plan_.steps[s].in) readers_[value].push_back(s);
  }
  void add_edge(int from, int to) {
    auto& list = after_[from];
    if (from != to && std::find(list.begin(), list.end(), to) == list.end()) list.push_back(to);
  }
  bool reaches(int from, int to) const;
  void serve(const graph::DonationPair& pair);
  void go_through_copy(ValueIndex value, std::size_t output);
  std::int64_t growth(int s) const;
  void apply_order();

  Plan& plan_;
  std::vector<std::vector<int>> after_;    // by step: steps that must come later
  std::vector<int> maker_;                 // by value
  std::vector<std::vector<int>> readers_;  // by value
  std::vector<bool> done_;
};

bool Scheduler::reaches(int from, int to) const {
  std::vector<bool> seen(plan_.steps.size());
  std::vector<int> open{from};
  while (!open.empty()) {
    const int s = open.back();
    open.pop_back();
    if (s == to) return true;
    if (seen[s]) continue;
    seen[s] = true;
    open.insert(open.end(), after_[s].begin(), after_[s].end());
  }
  return false;
}

void Scheduler::go_through_copy(ValueIndex value, std::size_t output) {
  PlannedValue copy = plan_.values[value];
  plan_.values[value].output = -1;
  copy.output = static_cast<std::int32_t>(output);
  PlannedStep step;
  step.in = {value};
  step.out = {static_cast<ValueIndex>(plan_.values.size())};
  plan_.values.push_back(copy);
  const int s = static_cast<int>(plan_.steps.size());
  const int maker = maker_[value];
  plan_.steps.push_back(std::move(step));
  add_step(s);
  add_edge(maker, s);
}

void Scheduler::serve(const graph::DonationPair& pair) {
  const ValueIndex leaf = pair.parameter;  // parameters are the first values
  ValueIndex value = 0;
  while (value < plan_.values.size() &&
         plan_.values[value].output != static_cast<std::int32_t>(pair.output))
    ++value;
  const int maker = maker_[value];
  const PlannedStep& step = plan_.steps[maker];
  const std::size_t slot = static_cast<std::size_t>(
      std::find(step.out.begin(), step.out.end(), value) - step.out.begin());
  bool fits = true;
  for (const int reader : readers_[leaf]) {
    if (reader == maker) fits = fits && step.is_in_place(slot, leaf, plan_.values);
    else fits = fits && !reaches(maker, reader);
  }
  if (!fits) {
    go_through_copy(value, pair.output);
    const int copy = static_cast<int>(plan_.steps.size()) - 1;
    for (const int reader : readers_[leaf]) add_edge(reader, copy);
    return;
  }
  for (const int reader : readers_[leaf]) add_edge(reader, maker);
}

/// Bytes that a step needs beyond those of operands nobody reads after it. Results with a home of
/// their own need none.
std::int64_t Scheduler::growth(int s) const {
  std::int64_t bytes = 0;
  for (const ValueIndex value : plan_.steps[s].out)
    if (plan_.values[value].output < 0)
      bytes += static_cast<std::int64_t>(plan_.values[value].bytes);
  for (const ValueIndex value : plan_.steps[s].in) {
    const auto& readers = readers_[value];
    const bool is_last = std::all_of(readers.begin(), readers.end(),
                                     [&](int reader) { return reader == s || done_[reader]; });
    if (is_last && maker_[value] >= 0 && plan_.values[value].output < 0)
      bytes -= static_cast<std::int64_t>(plan_.values[value].bytes);
  }
  return bytes;
}

/// In the order of the fusion, but a step that needs next to no memory (an update that ends a
/// gradient's life) runs as soon as it can.
void Scheduler::apply_order() {
  constexpr std::int64_t kNextToNone = 1024;
  constexpr std::size_t kLookAhead = 64;
  const int count = static_cast<int>(plan_.steps.size());
  std::vector<int> waits(count, 0), order;
  for (const auto& list : after_)
    for (const int s : list) ++waits[s];
  done_.assign(count, false);
  std::vector<int> ready;  // descending, so that the first is at the back
  for (int s = count; s-- > 0;)
    if (waits[s] == 0) ready.push_back(s);
  while (!ready.empty()) {
    auto chosen = ready.end() - 1;
    for (std::size_t i = 0; i < std::min(kLookAhead, ready.size()); ++i)
      if (growth(*(ready.end() - 1 - i)) <= kNextToNone) {
        chosen = ready.end() - 1 - static_cast<std::ptrdiff_t>(i);
        break;
      }
    const int s = *chosen;
    ready.erase(chosen);
    order.push_back(s);
    done_[s] = true;
    for (const int next : after_[s])
      if (--waits[next] == 0)
        ready.insert(std::upper_bound(ready.begin(), ready.end(), next, std::greater<>()), next);
  }
  std::vector<PlannedStep> steps;
  for (const int s : order) steps.push_back(std::move(plan_.steps[s]));
  plan_.steps = std::move(steps);
}

}  // namespace

void schedule(Plan& plan) { Scheduler(plan).run(); }

}  // namespace nx::host
