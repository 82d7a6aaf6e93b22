// One recorded case of the reference, and its values as run-time values of ours and back.
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "ops/function_row.h"

namespace nx::conformance {

using Json = nlohmann::ordered_json;  // the order of keywords matters in some calls

struct Case {
  std::string id, fn, desc;
  Json args, opts, expect;
  bool error = false;  // the call is refused
};

/// Calls `take` for each line of a file. Throws IoError naming file and line for a bad one.
void read_cases(const std::filesystem::path& file, const std::function<void(Case&&)>& take);

ops::Value value_of(const Json& json);
ops::Options options_of(const Json& json);
Json json_of(const ops::Value& value);

/// Types that the operations do not have to support yet: below a byte, f8 and complex. True when
/// the case mentions one. Emptying the list in case.cpp is the one switch that ends the exception.
bool mentions_later_type(const Case& c);

/// `is_nan` for `is_nan?`, `load_numpy` for `load_numpy!`.
std::string name_here(std::string_view name_there);

}  // namespace nx::conformance
