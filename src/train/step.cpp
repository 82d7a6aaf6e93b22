// The step: forward, gradient, update, metrics, and the checks of a debugged run.
#include "train/step.h"

#include <fmt/format.h>

#include <algorithm>

#include "nx/grad.h"
#include "nx/metrics.h"
#include "nx/ops.h"

namespace nx::train {
namespace {

/// Counts the values of every float leaf that are NaN or infinite, added to those of the steps of
/// the same call before this one.
class Checks {
 public:
  Checks(const StepState& before, StepState& next) : before_(before.checks), next_(next.checks) {}
  template <class T>
  void add(const std::string& name, const T& container) {
    detail::for_each_leaf_with_path(container, name, [&](const std::string& path, const Tensor& t) {
      if (!is_float(t.type())) return;
      const Tensor bad = sum(logical_or(is_nan(t), is_infinity(t)));
      const auto earlier = before_.find(path);
      next_[path] = earlier == before_.end() ? bad : earlier->second + bad;
    });
  }

 private:
  const std::map<std::string, Tensor>& before_;
  std::map<std::string, Tensor>& next_;
};

/// Causes come before effects.
int rank_of(const std::string& path) {
  constexpr const char* kOrder[] = {
      "x", "y", "output", "loss", "gradient", "optimizer_state", "model_state"};
  const std::string head = path.substr(0, path.find_first_of(".["));
  return static_cast<int>(std::find(std::begin(kOrder), std::end(kOrder), head) - kOrder);
}

}  // namespace

StepState Step::one(const StepState& state, const Tensor& x, const Tensor& y) const {
  StepState next = state;
  Checks checks(state, next);
  const std::int64_t rows = x.shape()[0];
  Tensor output, loss;
  if (parts.trains) {
    const auto value = [&](Tree parameters) {
      auto [y_pred, model] = parts.model.forward(
          nn::ModelState{std::move(parameters), state.model_state.state}, x, nn::Mode::kTrain);
      const Tensor mean_loss = mean(parts.loss(y, y_pred));
      return std::pair(mean_loss, std::pair(y_pred, std::move(model)));
    };
    const auto [result, gradient] = value_and_grad_with_aux(value)(state.model_state.parameters);
    loss = result.first;
    output = result.second.first;
    next.model_state.state = result.second.second;
    auto [updates, optimizer_state] =
        parts.optimizer.update(gradient, state.optimizer_state, state.model_state.parameters);
    next.optimizer_state = std::move(optimizer_state);
    next.model_state.parameters = optim::apply_updates(state.model_state.parameters, updates);
    if (checked) checks.add("gradient", gradient);
  } else {
    output = parts.model.forward(state.model_state, x, nn::Mode::kInference).first;
    if (parts.loss) loss = mean(parts.loss(y, output));
  }
  const auto average = [&](const std::string& name, const Tensor& measured) {
    next.metrics[name] = nn::running_average(state.metrics.at(name), measured, state.seen, rows);
  };
  if (parts.loss) average("loss", loss);
  for (const auto& [name, function] : metrics) average(name, function(y, output));
  next.seen = state.seen + static_cast<float>(rows);
  if (checked) {
    checks.add("x", x);
    checks.add("y", y);
    checks.add("output", output);
    if (parts.loss) checks.add("loss", loss);
    checks.add("model_state", next.model_state);
    checks.add("optimizer_state", next.optimizer_state);
  }
  return next;
}

StepState Step::operator()(StepState state, const std::vector<Tensor>& x,
                           const std::vector<Tensor>& y) const {
  for (std::size_t i = 0; i < x.size(); ++i) state = one(state, x[i], y[i]);
  return state;
}

std::string not_finite(const std::map<std::string, Tensor>& checks) {
  std::vector<std::pair<std::string, int>> found;
  for (const auto& [path, count] : checks)
    if (const int values = count.to_number<int>(); values > 0) found.emplace_back(path, values);
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return rank_of(a.first) < rank_of(b.first);
  });
  constexpr std::size_t kShown = 6;
  std::string text;
  for (std::size_t i = 0; i < found.size() && i < kShown; ++i)
    text += fmt::format("{}{} ({} value{})", i == 0 ? "" : ", ", found[i].first, found[i].second,
                        found[i].second == 1 ? "" : "s");
  if (found.size() > kShown) text += fmt::format(" and {} more", found.size() - kShown);
  return text;
}

}  // namespace nx::train
