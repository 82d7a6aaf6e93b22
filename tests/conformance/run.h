// How a case is run: a row's call, eagerly or traced and compiled, or an adapter for the cases whose
// `fn` names no function.
#pragma once

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "conformance/case.h"

namespace nx::conformance {

enum class Mode { eager, jit };
struct Setup {
  std::string compiler = "host";
  Mode mode = Mode::eager;
};

/// Thrown for a case of a function, or of a form, that is not there yet.
struct Skip : std::runtime_error {
  using std::runtime_error::runtime_error;
};

using Call = std::function<ops::Value(std::span<const ops::Value> args, const ops::Options& options)>;

/// The row of `Nx.add`, or null.
const ops::FunctionRow* find_function(std::string_view fn);
/// The row of the function that we call `add`, whatever its module there, or null.
const ops::FunctionRow* find_function_named(std::string_view name);

/// Calls directly, or through jit with every tensor of `args` and `options` as a traced argument.
ops::Value run_call(const Setup& setup, const std::string& name, const Call& call,
                    std::span<const ops::Value> args, const ops::Options& options);

/// True for functions that refuse some values (an index out of range, a zero divisor) in an eager
/// call, and give a defined result when compiled.
bool refuses_values(std::string_view fn);

using Adapter = ops::Value (*)(const Case& c, const Setup& setup);
struct AdapterRow {
  std::string_view fn;  // a whole name, or a prefix that ends in `:`
  Adapter run;
};
/// The adapter for a name, or null. One table a file.
Adapter find_adapter(std::string_view fn);
extern const std::span<const AdapterRow> kGradAdapters, kJitAdapters, kDonationAdapters,
    kNnAdapters, kOptimAdapters, kModelAdapters, kTrainAdapters,
    kLoopAdapters;

struct Verdict {
  enum class Kind { passed, failed, skipped } kind = Kind::passed;
  std::string message;  // what differs, or why it was skipped
};
/// Runs and judges one case.
Verdict judge(const Case& c, const Setup& setup);

}  // namespace nx::conformance
