// The order of the steps. A pair (leaf, output) asks that every other reader of the leaf runs
// before the step that writes the output; where that cannot be, the output is computed elsewhere
// and copied when the leaf is free.
#include <algorithm>
#include <queue>

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
  void apply_order();

  Plan& plan_;
  std::vector<std::vector<int>> after_;    // by step: steps that must come later
  std::vector<int> maker_;                 // by value
  std::vector<std::vector<int>> readers_;  // by value
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
    if (reader == maker)
      fits = fits && step.is_in_place(slot, leaf, plan_.values);
    else
      fits = fits && !reaches(maker, reader);
  }
  if (!fits) {
    go_through_copy(value, pair.output);
    const int copy = static_cast<int>(plan_.steps.size()) - 1;
    for (const int reader : readers_[leaf]) add_edge(reader, copy);
    return;
  }
  for (const int reader : readers_[leaf]) add_edge(reader, maker);
}

void Scheduler::apply_order() {
  const int count = static_cast<int>(plan_.steps.size());
  std::vector<int> waits(count, 0), order;
  for (const auto& list : after_)
    for (const int s : list) ++waits[s];
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int s = 0; s < count; ++s)
    if (waits[s] == 0) ready.push(s);
  while (!ready.empty()) {
    const int s = ready.top();
    ready.pop();
    order.push_back(s);
    for (const int next : after_[s])
      if (--waits[next] == 0) ready.push(next);
  }
  std::vector<PlannedStep> steps;
  for (const int s : order) steps.push_back(std::move(plan_.steps[s]));
  plan_.steps = std::move(steps);
}

}  // namespace

void schedule(Plan& plan) { Scheduler(plan).run(); }

}  // namespace nx::host
