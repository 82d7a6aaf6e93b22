// Cases of the donation mark, of printing, and of templates of containers.
#include "conformance/expression.h"
#include "conformance/run.h"
#include "nx/creation.h"
#include "nx/donation.h"
#include "nx/inspect.h"

namespace nx::conformance {
namespace {

using ops::Value;

/// Applies `f` to the tensors of a value.
Value map_tensors(const Value& value, const std::function<Tensor(const Tensor&)>& f) {
  if (const auto* t = value.as<Tensor>()) return f(*t);
  if (const auto* list = value.as<Value::List>()) {
    Value::List mapped;
    for (const Value& v : *list) mapped.push_back(map_tensors(v, f));
    return mapped;
  }
  if (const auto* map = value.as<Value::Map>()) {
    Value::Map mapped;
    for (const auto& [key, v] : *map) mapped[key] = map_tensors(v, f);
    return mapped;
  }
  return value;
}

Value truth(bool b) { return b ? "true" : "false"; }

Value run_donatable(const Case& c, const Setup&) {
  return map_tensors(value_of(c.args.at(0)), [](const Tensor& t) { return donatable(t); });
}

Value run_is_donatable(const Case& c, const Setup&) {
  const Value value = value_of(c.args.at(0));
  const auto* t = value.as<Tensor>();
  return truth(t != nullptr && is_donatable(*t));
}

/// donatable_…: what becomes of the mark.
Value run_mark(const Case& c, const Setup& setup) {
  const std::string_view what = std::string_view(c.fn).substr(std::string_view("donatable_").size());
  const Value value = value_of(c.args.at(0));
  const auto* const plain = value.as<Tensor>();
  if (what == "of_map_then_donatable?") {
    const auto marked = *map_tensors(value, [](const Tensor& t) { return donatable(t); }).as<Value::Map>();
    const auto* a = marked.at("a").as<Tensor>();
    return Value::List{truth(a != nullptr && is_donatable(*a)),
                       truth(marked.at("b").as<Tensor>() != nullptr)};
  }
  const Tensor t = donatable(*plain);
  if (what == "then_donatable?") return truth(is_donatable(t));
  if (what == "twice") return truth(is_donatable(donatable(t)));
  if (what == "template") return truth(is_donatable(to_template(t)));
  if (what == "still_readable_eager") {
    Value::List list;
    Expression::parse("x+1").evaluate({{"x", Value(t)}});
    for (const auto v : t.to_flat_list<std::int64_t>()) list.push_back(v);
    return list;
  }
  const auto mark_of = [&](const Value& result) { return truth(is_donatable(*result.as<Tensor>())); };
  const auto of_row = [&](std::string_view name, std::vector<Value> args) {
    const auto* const row = find_function_named(name);
    if (row == nullptr) throw Skip("not there yet");
    return mark_of((*row->call)(args, {}));
  };
  if (what == "result_of_op") return of_row("add", {t, 1});
  if (what == "reshape") return of_row("reshape", {t, Value(Value::List{4})});
  if (what == "vectorize") return of_row("vectorize", {t, "v"});
  if (what == "rename") return of_row("rename", {t, Value(Value::List{"a", "b"})});
  if (what == "as_type_same") return of_row("as_type", {t, t.type()});
  if (what == "backend_copy") return mark_of(clone(t));
  if (what == "jit_identity") {
    const Call identity = [](std::span<const Value> args, const ops::Options&) { return args[0]; };
    const Value args[] = {t};
    return mark_of(run_call({setup.compiler, Mode::jit}, "identity", identity, args, {}));
  }
  throw Skip("not there yet");
}

Value run_inspect(const Case& c, const Setup&) {
  const Value value = value_of(c.args.at(0));
  InspectOptions options;
  if (c.opts.contains("limit"))
    options.limit = c.opts.at("limit").is_number() ? c.opts.at("limit").get<std::int64_t>() : -1;
  std::string text = inspect(tensor_from(value), options);
  // Ours has our own type's name and says `template` where the reference names its backend.
  text.replace(0, text.find('<'), "#Nx.Tensor");
  if (const auto at = text.find("\n  template\n"); at != std::string::npos)
    text.replace(at, 12, "\n  Nx.TemplateBackend\n");
  return text;
}

Value run_container_to_template(const Case& c, const Setup&) {
  const std::function<Value(const Value&)> convert = [&](const Value& value) -> Value {
    if (const auto* list = value.as<Value::List>()) {
      Value::List mapped;
      for (const Value& v : *list) mapped.push_back(convert(v));
      return mapped;
    }
    if (const auto* map = value.as<Value::Map>()) {
      Value::Map mapped;
      for (const auto& [key, v] : *map) mapped[key] = convert(v);
      return mapped;
    }
    return to_template(tensor_from(value));
  };
  return convert(value_of(c.args.at(0)));
}

constexpr AdapterRow kRows[] = {
    {"Nx.donatable", run_donatable},
    {"Nx.donatable?", run_is_donatable},
    {"donatable_then_donatable?", run_mark},
    {"donatable_of_map_then_donatable?", run_mark},
    {"donatable_result_of_op", run_mark},
    {"donatable_twice", run_mark},
    {"donatable_reshape", run_mark},
    {"donatable_template", run_mark},
    {"donatable_vectorize", run_mark},
    {"donatable_rename", run_mark},
    {"donatable_as_type_same", run_mark},
    {"donatable_backend_copy", run_mark},
    {"donatable_jit_identity", run_mark},
    {"donatable_still_readable_eager", run_mark},
    {"inspect", run_inspect},
    {"container_to_template", run_container_to_template},
};

}  // namespace

const std::span<const AdapterRow> kDonationAdapters = kRows;

}  // namespace nx::conformance
