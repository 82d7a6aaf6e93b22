#include "train/named_loss.h"

#include <variant>
#include <vector>

#include "nn/families.h"

namespace nx::train {
namespace {

using ops::FunctionRow;
using ops::Options;
using ops::Value;

const FunctionRow& row_named(const std::string& name) {
  std::string known;
  for (const FunctionRow& row : nn::kLossesFamily.functions) {
    if (*row.name == name) return row;
    known += (known.empty() ? "" : ", ") + std::string(*row.name);
  }
  throw ArgumentError("trainer", "unknown loss; expected one of " + known + ", got " + name);
}

Options options_for(const std::string& loss, const nn::Model& model) {
  const std::string last = model.last_activation();
  const bool logits = (loss == "categorical_cross_entropy" && last != "softmax") ||
                      (loss == "binary_cross_entropy" && (last.empty() || last == "linear"));
  return logits ? Options{{"from_logits", "true"}} : Options{};
}

}  // namespace

LossFunction loss_named(const std::string& name, const nn::Model& model) {
  const bool may_be_sparse = name == "categorical_cross_entropy";
  const FunctionRow* const row = &row_named(name);
  return [row, may_be_sparse, options = options_for(name, model)](const Tensor& y_true,
                                                                  const Tensor& y_pred) {
    Options own = options;
    if (may_be_sparse && y_true.rank() < y_pred.rank()) own.emplace_back("sparse", "true");
    const std::vector<Value> args{y_true, y_pred};
    const Value loss = (*row->call)(args, own);
    return std::get<Tensor>(loss.data);
  };
}

}  // namespace nx::train
