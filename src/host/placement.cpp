// Places for values: a value may lie wherever nothing else lives while it does. Results' buffers
// are used before the workspace; a value may share its place with an operand that dies in the step
// that makes it, when that step works in place.
#include <algorithm>
#include <limits>
#include <numeric>

#include "host/plan.h"
#include "nx/error.h"

namespace nx::host {
namespace {

constexpr std::size_t kAlign = 64;
constexpr std::size_t align_up(std::size_t n) { return (n + kAlign - 1) / kAlign * kAlign; }
/// Values up to this size lie together in the workspace, which stays in the cache; larger ones go
/// to results' buffers first.
constexpr std::size_t kSmall = 8 * 1024;
constexpr std::size_t kNowhere = std::numeric_limits<std::size_t>::max();

class Placer {
 public:
  explicit Placer(Plan& plan) : plan_(plan), outputs_(plan.output_bytes.size()) {
    items_.resize(outputs_ + 1);
    maker_slot_.resize(plan.values.size());
  }

  void run() {
    find_lifetimes();
    for (ValueIndex v = 0; v < plan_.values.size(); ++v) {
      PlannedValue& value = plan_.values[v];
      if (v < parameters()) {
        // A paired leaf lives in its output's buffer until its last reader.
        if (const std::int32_t output = plan_.pair_of_parameter[v]; output >= 0)
          items_[output].push_back(v);
      } else if (value.output >= 0) {
        value.last = static_cast<int>(plan_.steps.size());
        value.at = {plan_.output_block(static_cast<std::size_t>(value.output)), 0};
        items_[value.output].push_back(v);
      }
    }
    std::vector<ValueIndex> order;
    for (ValueIndex v = parameters(); v < plan_.values.size(); ++v)
      if (plan_.values[v].output < 0) order.push_back(v);
    std::stable_sort(order.begin(), order.end(), [&](ValueIndex a, ValueIndex b) {
      return plan_.values[a].bytes > plan_.values[b].bytes;
    });
    // Small buffers first: what fits there leaves the large ones to large values.
    by_size_.resize(outputs_);
    std::iota(by_size_.begin(), by_size_.end(), std::size_t{0});
    std::stable_sort(by_size_.begin(), by_size_.end(), [&](std::size_t a, std::size_t b) {
      return plan_.output_bytes[a] < plan_.output_bytes[b];
    });
    for (const ValueIndex v : order) place(v);
  }

 private:
  ValueIndex parameters() const { return static_cast<ValueIndex>(plan_.pair_of_parameter.size()); }
  void find_lifetimes();
  void place(ValueIndex v);
  std::size_t find_offset(ValueIndex v, std::size_t arena, std::size_t capacity) const;
  bool is_free(ValueIndex v, std::size_t arena, std::size_t offset) const;
  /// Whether two values that are both alive in one step only may have the same address.
  bool may_share(ValueIndex older, ValueIndex younger) const;
  bool overlap_in_time(ValueIndex a, ValueIndex b) const {
    const PlannedValue &x = plan_.values[a], &y = plan_.values[b];
    return x.first <= y.last && y.first <= x.last;
  }

  Plan& plan_;
  std::size_t outputs_;
  std::vector<std::vector<ValueIndex>> items_;  // by output, the workspace last
  std::vector<std::size_t> by_size_;
  std::vector<std::pair<int, std::size_t>> maker_slot_;  // step and output slot
};

void Placer::find_lifetimes() {
  for (PlannedValue& value : plan_.values) value.first = value.last = -1;
  for (int s = 0; s < static_cast<int>(plan_.steps.size()); ++s) {
    const PlannedStep& step = plan_.steps[s];
    for (const ValueIndex v : step.in) plan_.values[v].last = s;
    for (std::size_t o = 0; o < step.out.size(); ++o) {
      plan_.values[step.out[o]].first = plan_.values[step.out[o]].last = s;
      maker_slot_[step.out[o]] = {s, o};
    }
    if (step.scratch >= 0) {
      PlannedValue& scratch = plan_.values[static_cast<std::size_t>(step.scratch)];
      scratch.first = scratch.last = s;
      maker_slot_[static_cast<std::size_t>(step.scratch)] = {s, kNowhere};
    }
  }
}

bool Placer::may_share(ValueIndex older, ValueIndex younger) const {
  const PlannedValue &x = plan_.values[older], &y = plan_.values[younger];
  if (x.last != y.first || younger < parameters()) return false;
  const auto [step, slot] = maker_slot_[younger];
  if (slot == kNowhere) return false;
  const auto& in = plan_.steps[step].in;
  return std::find(in.begin(), in.end(), older) != in.end() &&
         plan_.steps[step].is_in_place(slot, older, plan_.values);
}

bool Placer::is_free(ValueIndex v, std::size_t arena, std::size_t offset) const {
  const std::size_t end = offset + plan_.values[v].bytes;
  for (const ValueIndex other : items_[arena]) {
    if (!overlap_in_time(v, other)) continue;
    const PlannedValue& item = plan_.values[other];
    const std::size_t from = other < parameters() ? 0 : item.at.offset;
    if (end <= from || from + item.bytes <= offset) continue;
    if (from != offset || !(may_share(other, v) || may_share(v, other))) return false;
  }
  return true;
}

/// The lowest offset where `v` fits: on an operand or successor it may share with, or in a gap.
std::size_t Placer::find_offset(ValueIndex v, std::size_t arena, std::size_t capacity) const {
  const std::size_t bytes = plan_.values[v].bytes;
  if (bytes > capacity) return kNowhere;
  std::size_t best = kNowhere;
  std::vector<std::pair<std::size_t, std::size_t>> taken;
  for (const ValueIndex other : items_[arena]) {
    if (!overlap_in_time(v, other)) continue;
    const PlannedValue& item = plan_.values[other];
    const std::size_t from = other < parameters() ? 0 : item.at.offset;
    taken.push_back({from, align_up(from + item.bytes)});
    if (from < best && from <= capacity - bytes && (may_share(other, v) || may_share(v, other)) &&
        is_free(v, arena, from))
      best = from;
  }
  std::sort(taken.begin(), taken.end());
  std::size_t offset = 0;
  for (const auto& [from, end] : taken) {
    if (offset + bytes <= from) break;
    offset = std::max(offset, end);
  }
  return offset <= capacity - bytes ? std::min(best, offset) : best;
}

void Placer::place(ValueIndex v) {
  PlannedValue& value = plan_.values[v];
  for (const std::size_t output : by_size_) {
    if (value.bytes <= kSmall || plan_.output_bytes[output] < value.bytes) continue;
    const std::size_t offset = find_offset(v, output, plan_.output_bytes[output]);
    if (offset == kNowhere) continue;
    value.at = {plan_.output_block(output), offset};
    items_[output].push_back(v);
    return;
  }
  const std::size_t offset = find_offset(v, outputs_, kNowhere);
  value.at = {plan_.workspace_block(), offset};
  items_[outputs_].push_back(v);
  plan_.workspace = std::max(plan_.workspace, align_up(offset + value.bytes));
}

}  // namespace

void place_values(Plan& plan) { Placer(plan).run(); }

}  // namespace nx::host
