// Chains of stages: initial state, one update, composition.
#include "nx/update.h"

#include "nx/ops.h"

namespace nx::optim {

State Update::init(const Tree& params) const {
  State state;
  for (auto stage = stages_.rbegin(); stage != stages_.rend(); ++stage)
    if (stage->init) state.push_back(stage->init(params));
  return state;
}

std::pair<Tree, State> Update::update(const Tree& gradients, const State& state,
                                      const Tree& params) const {
  std::size_t kept = 0;
  for (const Stage& stage : stages_) kept += stage.init != nullptr;
  if (state.size() != kept)
    throw ArgumentError("update", "expected a state of " + std::to_string(kept) + " stages, got " +
                                      std::to_string(state.size()));
  State next = state;
  Tree updates = gradients;
  Tree nothing;
  for (const Stage& stage : stages_) {
    if (!stage.init) {
      updates = stage.apply(updates, nothing, params);
      continue;
    }
    Tree& own = next[--kept];
    const Tree before = own;
    updates = stage.apply(updates, own, params);
    // In the types of before: a step whose state changed its type would be compiled twice.
    own = zip_leaves([](const Tensor& t, const Tensor& was) { return as_type(t, was.type()); },
                     std::move(own), before);
  }
  return {std::move(updates), std::move(next)};
}

Update Update::then(const Update& next) const {
  Update both = *this;
  both.stages_.insert(both.stages_.end(), next.stages_.begin(), next.stages_.end());
  return both;
}

Update compose(const Update& a, const Update& b) { return a.then(b); }

Tree apply_updates(const Tree& params, const Tree& updates) {
  return zip_leaves([](const Tensor& p, const Tensor& u) { return as_type(p + u, p.type()); },
                    params, updates);
}

namespace {

void overwrite(Tree& tree, const Tree& state) {
  if (state.is_leaf()) tree = state;
  for (const auto& [name, child] : state.children) overwrite(tree[name], child);
}

}  // namespace

Tree apply_updates(const Tree& params, const Tree& updates, const Tree& state) {
  Tree next = apply_updates(params, updates);
  overwrite(next, state);
  return next;
}

}  // namespace nx::optim
