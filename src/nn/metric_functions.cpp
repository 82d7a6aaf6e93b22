// Functions of metrics: documentation, examples (counted by hand), calls by name.
#include "nn/families.h"
#include "nx/losses.h"
#include "nx/metrics.h"
#include "ops/row_values.h"

namespace nx::nn {
namespace {

using ops::Accepts;
using ops::Accuracy;
using ops::erase;
using ops::Examples;
using ops::f;
using ops::FunctionRow;
using ops::NamesRule;
using ops::Options;
using ops::RowMaker;
using ops::t;
using ops::Value;

constexpr RowMaker metric{.module = "Axon.Metrics",
                          .accepts = Accepts::kReal,
                          .names = NamesRule::kDropReduced,
                          .accuracy = Accuracy{4},
                          .differentiable = false};
constexpr RowMaker smooth_metric{.module = "Axon.Metrics",
                                 .accepts = Accepts::kReal,
                                 .names = NamesRule::kDropReduced,
                                 .accuracy = Accuracy{4}};

/// Targets 0 1 1 1 0 and what was predicted of them.
Value targets() { return t({0, 1, 1, 1, 0}); }
Value predictions() { return f({0.8, 0.3, 0.5, 0.9, 0.1}); }
Options threshold() { return {{"threshold", 0.4}}; }
Value number(std::int64_t n) { return t(n, {.type = u32}); }

/// The metric of that name over targets and predictions.
Value measured(const Value& y_true, const Value& y_pred, const Options& options);

Tensor tensor_of(const Value& value) {
  if (const auto* t = value.as<Tensor>()) return *t;
  return tensor(ops::number_from(value));
}

/// running_average(average, y_true, y_pred, iteration, {.metric = name})
Value call_running_average(std::span<const Value> args, const Options& options) {
  ops::expect_arguments(args, 4, 4);
  const Value value = measured(args[1], args[2], options);
  return running_average(tensor_of(args[0]), *value.as<Tensor>(), tensor_of(args[3]), 1);
}

/// running_sum(sum, y_true, y_pred, iteration, {.metric = name})
Value call_running_sum(std::span<const Value> args, const Options& options) {
  ops::expect_arguments(args, 4, 4);
  const Value value = measured(args[1], args[2], options);
  return running_sum(tensor_of(args[0]), *value.as<Tensor>());
}

/// The loss of that name, over all rows.
Value call_mean_absolute_error(std::span<const Value> args, const Options& options) {
  Options own = options;
  own.emplace_back("reduction", "mean");
  return erase<&losses::mean_absolute_error>(args, own);
}

const FunctionRow kFunctions[] = {
    metric(
        "accuracy", "The share of right predictions.", erase<&metrics::accuracy>,
        +[]() -> Examples {
          return {{{t({{0, 1, 0}, {1, 0, 0}}), f({{0.1, 0.7, 0.2}, {0.3, 0.4, 0.3}})}, {}, f(0.5)},
                  {{t({1, 0}), f({{0.1, 0.7, 0.2}, {0.5, 0.4, 0.1}})}, {}, f(1)},
                  {{t({{1}, {0}}), f({{0.25}, {-1}})}, {{"from_logits", "true"}}, f(1)}};
        }),
    metric(
        "precision", "Of what was predicted as 1, the share that is.", erase<&metrics::precision>,
        +[]() -> Examples {
          return {{{targets(), predictions()}, {}, f(0.5)},
                  {{targets(), predictions()}, threshold(), f(2.0 / 3)}};
        }),
    metric(
        "recall", "Of what is 1, the share that was predicted as such.", erase<&metrics::recall>,
        +[]() -> Examples {
          return {{{targets(), predictions()}, {}, f(1.0 / 3)}, {{t({0, 0}), f({0, 1})}, {}, f(0)}};
        }),
    metric(
        "sensitivity", "The same as recall.", erase<&metrics::sensitivity>,
        +[]() -> Examples {
          return {{{targets(), predictions()}, threshold(), f(2.0 / 3)}};
        }),
    metric(
        "specificity", "Of what is 0, the share that was predicted as such.",
        erase<&metrics::specificity>,
        +[]() -> Examples {
          return {{{targets(), predictions()}, {}, f(0.5)}};
        }),
    metric(
        "true_positives", "How many were predicted as 1 and are.", erase<&metrics::true_positives>,
        +[]() -> Examples {
          return {{{targets(), predictions()}, {}, number(1)},
                  {{targets(), predictions()}, threshold(), number(2)}};
        }),
    metric(
        "true_negatives", "How many were predicted as 0 and are.", erase<&metrics::true_negatives>,
        +[]() -> Examples {
          return {{{targets(), predictions()}, {}, number(1)}};
        }),
    metric(
        "false_positives", "How many were predicted as 1 and are 0.",
        erase<&metrics::false_positives>,
        +[]() -> Examples {
          return {{{targets(), predictions()}, {}, number(1)}};
        }),
    metric(
        "false_negatives", "How many were predicted as 0 and are 1.",
        erase<&metrics::false_negatives>,
        +[]() -> Examples {
          return {{{targets(), predictions()}, {}, number(2)}};
        }),
    metric(
        "top_k_categorical_accuracy", "The share of rows whose class is among the k best.",
        erase<&metrics::top_k_categorical_accuracy>,
        +[]() -> Examples {
          return {{{t({{0, 1, 0}, {1, 0, 0}}), f({{0.1, 0.4, 0.7}, {0.1, 0.4, 0.7}})},
                   {{"k", 2}},
                   f(0.5)},
                  {{t({1, 0}), f({{0.5, 0.5, 0.1}, {0.5, 0.5, 0.1}})},
                   {{"k", 1}, {"sparse", "true"}},
                   f(0.5)}};
        }),
    smooth_metric(
        "mean_absolute_error", "The loss of that name over all rows.", call_mean_absolute_error,
        +[]() -> Examples {
          return {{{f({{0, 1}, {0, 0}}), f({{1, 1}, {1, 0.5}})}, {}, f(0.625)}};
        }),
    metric(
        "running_average", "The average of a metric after another batch.", call_running_average,
        +[]() -> Examples {
          return {{{f(0.75), targets(), predictions(), 3}, {{"metric", "precision"}}, f(0.6875)}};
        }),
    metric(
        "running_sum", "The sum of a metric after another batch.", call_running_sum,
        +[]() -> Examples {
          return {{{number(12), targets(), predictions(), 3},
                   {{"metric", "false_negatives"}},
                   number(14)}};
        }),
};

Value measured(const Value& y_true, const Value& y_pred, const Options& options) {
  const Value* const name = ops::find_option(options, "metric");
  const std::vector<Value> args{y_true, y_pred};
  for (const FunctionRow& row : kFunctions)
    if (name != nullptr && *row.name == ops::FromValue<std::string>::get(*name) &&
        !row.name->starts_with("running"))
      return (*row.call)(args, {});
  throw ArgumentError("call", "expected the name of a metric");
}

}  // namespace

const ops::Family kMetricsFamily{"metrics", {}, kFunctions};

}  // namespace nx::nn
