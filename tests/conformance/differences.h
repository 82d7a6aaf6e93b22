// Where we differ from the reference on purpose: what is expected of a case instead. The reasons
// are in differences.md, the data in differences.jsonl.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "conformance/case.h"

namespace nx::conformance {

class Differences {
 public:
  /// Reads lines `{"id", "expect" or "error", "why"}`. Throws IoError for a bad one.
  explicit Differences(const std::filesystem::path& file);
  /// Replaces what `c` expects where the data or a rule says so.
  void apply(Case& c) const;

 private:
  struct Override {
    bool error = false;
    Json expect;
  };
  std::map<std::string, Override> by_id_;
};

/// The rules for functions of networks: differences_nn.cpp.
void apply_nn_differences(Case& c);

}  // namespace nx::conformance
