// Finding what to call for a case, calling it, and judging the result.
#include "conformance/run.h"

#include <fmt/format.h>

#include <algorithm>

#include "conformance/compare.h"
#include "nx/jit.h"
#include "ops/rows.h"
#include "train/families.h"

namespace nx::conformance {
namespace {

constexpr std::string_view kRefuseValues[] = {
    "Nx.quotient", "Nx.remainder",       "Nx.left_shift",  "Nx.right_shift", "Nx.gather",
    "Nx.take",     "Nx.take_along_axis", "Nx.indexed_add", "Nx.indexed_put",
};

template <std::size_t N>
bool among(const std::string_view (&list)[N], std::string_view fn) {
  return std::find(std::begin(list), std::end(list), fn) != std::end(list);
}

/// Module and name of a function of the reference.
std::pair<std::string_view, std::string_view> split(std::string_view fn) {
  const auto dot = fn.rfind('.');
  if (dot == std::string_view::npos) return {"", fn};
  return {fn.substr(0, dot), fn.substr(dot + 1)};
}

ops::Value run_case(const Case& c, const Setup& setup) {
  if (const Adapter adapter = find_adapter(c.fn)) return adapter(c, setup);
  const auto* const row = find_function(c.fn);
  if (row == nullptr) throw Skip("not there yet");
  std::vector<ops::Value> args;
  for (const Json& arg : c.args) args.push_back(value_of(arg));
  const Setup own = ops::reads_values(*row) ? Setup{setup.compiler, Mode::eager} : setup;
  return run_call(own, c.fn, *row->call, args, options_of(c.opts));
}

Verdict judge_error(const Case& c, const Setup& setup) {
  using Kind = Verdict::Kind;
  std::string got;
  try {
    got = json_of(run_case(c, setup)).dump();
  } catch (const InternalError& e) {
    return {Kind::failed, fmt::format("expected an error, got a bug of ours: {}", e.what())};
  } catch (const Error&) {
    return {Kind::passed, ""};
  }
  // Compiled code cannot refuse a value: then the eager call must.
  if (setup.mode == Mode::jit && refuses_values(c.fn))
    return judge_error(c, {setup.compiler, Mode::eager});
  return {Kind::failed, fmt::format("expected an error, got {}", got.substr(0, 200))};
}

}  // namespace

bool refuses_values(std::string_view fn) { return among(kRefuseValues, fn); }

const ops::FunctionRow* find_function(std::string_view fn) {
  const auto [module, name] = split(fn);
  for (const auto* family : train::all_families())
    for (const auto& row : family->functions)
      if (*row.module == module && name_here(*row.name) == name_here(name)) return &row;
  return nullptr;
}

const ops::FunctionRow* find_function_named(std::string_view name) {
  // `max` is there twice: as an operation and as a constant.
  if (const auto* const row = find_function("Nx." + std::string(name))) return row;
  for (const auto* family : train::all_families())
    for (const auto& row : family->functions)
      if (name_here(*row.name) == name) return &row;
  return nullptr;
}

Adapter find_adapter(std::string_view fn) {
  for (const auto& table : {kGradAdapters, kJitAdapters, kDonationAdapters, kNnAdapters,
                            kOptimAdapters, kModelAdapters, kTrainAdapters, kLoopAdapters})
    for (const auto& row : table)
      if (row.fn == fn || (row.fn.back() == ':' && fn.starts_with(row.fn))) return row.run;
  return nullptr;
}

ops::Value run_call(const Setup& setup, const std::string& name, const Call& call,
                    std::span<const ops::Value> args, const ops::Options& options) {
  if (setup.mode == Mode::eager) return call(args, options);
  return ops::run_traced(call, args, options,
                         {.name = name, .compiler = setup.compiler,
                          .donation = DonationPolicy::lenient});
}

Verdict judge(const Case& c, const Setup& setup) {
  using Kind = Verdict::Kind;
  if (find_adapter(c.fn) == nullptr && find_function(c.fn) == nullptr)
    return {Kind::skipped, "not there yet"};
  if (mentions_later_type(c)) return {Kind::skipped, "types below a byte, f8 and complex"};
  try {
    if (c.error) return judge_error(c, setup);
    const ops::Value got = run_case(c, setup);
    auto message = difference(c.expect, json_of(got), tolerance_of(c, setup.compiler));
    return {message.empty() ? Kind::passed : Kind::failed, std::move(message)};
  } catch (const Skip& skip) {
    return {Kind::skipped, skip.what()};
  } catch (const std::exception& e) {
    return {Kind::failed, fmt::format("expected {}, got an error: {}",
                                      c.expect.dump().substr(0, 120), e.what())};
  }
}

}  // namespace nx::conformance
