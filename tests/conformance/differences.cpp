// The overrides of differences.jsonl.
#include "conformance/differences.h"

#include <fmt/format.h>

#include <fstream>

namespace nx::conformance {

Differences::Differences(const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in) throw IoError("conformance", fmt::format("cannot read {}", file.string()));
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    if (line.empty()) continue;
    try {
      const Json json = Json::parse(line);
      Override entry;
      entry.error = json.value("error", false);
      if (!entry.error) entry.expect = json.at("expect");
      by_id_[json.at("id").get<std::string>()] = std::move(entry);
    } catch (const nlohmann::json::exception& e) {
      throw IoError("conformance", fmt::format("{}:{}: {}", file.string(), number, e.what()));
    }
  }
}

void Differences::apply(Case& c) const {
  const auto found = by_id_.find(c.id);
  if (found == by_id_.end()) return;
  c.error = found->second.error;
  c.expect = found->second.expect;
}

}  // namespace nx::conformance
