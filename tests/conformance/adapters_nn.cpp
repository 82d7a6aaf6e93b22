// Cases of functions of networks that take or make other functions.
#include "conformance/expression.h"
#include "conformance/run.h"
#include "nx/losses.h"

namespace nx::conformance {
namespace {

using ops::Value;

/// loss(label_smoothed(y_true), y_pred), for the loss of that name.
Value run_label_smoothing(const Case& c, const Setup& setup) {
  const Value name = value_of(c.opts.at("loss"));
  const auto* const row = find_function("Axon.Losses." + *name.as<std::string>());
  if (row == nullptr) throw Skip("not there yet");
  const auto loss = [row](const Tensor& y_true, const Tensor& y_pred) {
    const std::vector<Value> args{y_true, y_pred};
    return tensor_from((*row->call)(args, {}));
  };
  nn::LabelSmoothingOptions options;
  if (c.opts.contains("smoothing")) options.smoothing = c.opts.at("smoothing").get<double>();
  const Call call = [&](std::span<const Value> args, const ops::Options&) -> Value {
    return nn::label_smoothing(loss, options)(tensor_from(args[0]), tensor_from(args[1]));
  };
  const std::vector<Value> args{value_of(c.args.at(0)), value_of(c.args.at(1))};
  return run_call(setup, c.fn, call, args, {});
}

constexpr AdapterRow kRows[] = {
    {"Axon.Losses.label_smoothing", run_label_smoothing},
};

}  // namespace

const std::span<const AdapterRow> kNnAdapters = kRows;

}  // namespace nx::conformance
