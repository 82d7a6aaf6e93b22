// What is expected instead of the reference's result: by a rule where the reason is general, so
// that it holds for any folder of cases (rules_*.cpp), else by the case's id in differences.jsonl.
#include "conformance/differences.h"

#include <fmt/format.h>

#include <fstream>

#include "conformance/rules.h"

namespace nx::conformance {

Differences::Differences(const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in) throw IoError("conformance", fmt::format("cannot read {}", file.string()));
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    if (line.empty()) continue;
    const auto where = [&] { return fmt::format("{}:{}", file.string(), number); };
    try {
      const Json json = Json::parse(line);
      Override entry;
      entry.error = json.value("error", false);
      if (!entry.error) entry.expect = json.at("expect");
      if (json.at("why").get<std::string>().empty())
        throw IoError("conformance", where() + ": `why` is empty; expected the reason");
      by_id_[json.at("id").get<std::string>()] = std::move(entry);
    } catch (const nlohmann::json::exception& e) {
      throw IoError("conformance", fmt::format("{}: {}", where(), e.what()));
    }
  }
}

void Differences::apply(Case& c) const {
  const auto found = by_id_.find(c.id);
  if (found != by_id_.end()) {
    c.error = found->second.error;
    c.expect = found->second.expect;
    return;
  }
  apply_type_rules(c);
  apply_value_rules(c);
  apply_nn_differences(c);
}

}  // namespace nx::conformance
