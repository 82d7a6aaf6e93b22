// nxpp-status: writes docs/status.md (what of the reference's catalogue is there) and
// docs/operations.md (every public function with its examples) from the registry; --check compares.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "nx/inspect.h"
#include "ops/function_row.h"
#include "train/families.h"

namespace {

using nx::ops::Value;

std::string name_here(std::string name) {
  if (name.ends_with('?')) return "is_" + name.substr(0, name.size() - 1);
  if (name.ends_with('!')) name.pop_back();
  return name;
}

/// A value on one line where it has one row.
std::string text_of(const Value& value) {
  if (const auto* t = value.as<nx::Tensor>()) {
    std::istringstream lines(nx::inspect(*t));
    std::string line, text;
    std::getline(lines, line);
    while (std::getline(lines, line) && line != ">") {
      const auto begin = line.find_first_not_of(' ');
      if (!text.empty() && text.back() != '[' && line[begin] != ']') text += ' ';
      text += line.substr(begin);
    }
    return text;
  }
  if (const auto* n = value.as<nx::Number>()) return n->to_string();
  if (const auto* d = value.as<nx::DType>()) return std::string(name_of(*d));
  if (const auto* s = value.as<std::string>()) {
    std::string text;
    for (const unsigned char c : *s)
      text += std::isprint(c) ? std::string(1, static_cast<char>(c)) : fmt::format("\\x{:02x}", c);
    return text;
  }
  if (const auto* r = value.as<Value::Range>()) return fmt::format("{}..{}", r->first, r->last);
  if (const auto* list = value.as<Value::List>()) {
    std::string text;
    for (const Value& v : *list) text += (text.empty() ? "" : ", ") + text_of(v);
    return '{' + text + '}';
  }
  if (const auto* map = value.as<Value::Map>()) {
    std::string text;
    for (const auto& [key, v] : *map) text += (text.empty() ? "" : ", ") + key + ": " + text_of(v);
    return '{' + text + '}';
  }
  return "none";
}

std::string call_of(const nx::ops::FunctionRow& row, const nx::ops::Example& example) {
  std::string text;
  for (const Value& arg : example.args) text += (text.empty() ? "" : ", ") + text_of(arg);
  std::string options;
  for (const auto& [key, value] : example.options)
    options += fmt::format("{}.{} = {}", options.empty() ? "" : ", ", key, text_of(value));
  if (!options.empty()) text += fmt::format("{}{{{}}}", text.empty() ? "" : ", ", options);
  return fmt::format("{}({})", name_here(std::string(*row.name)), text);
}

std::string operations() {
  std::string out =
      "# Operations\n\nWritten by `nxpp-status` from the rows of functions; the tests run every "
      "example.\n";
  for (const auto* family : nx::train::all_families()) {
    out += fmt::format("\n## {}\n", family->name);
    for (const auto& row : family->functions) {
      out += fmt::format("\n### {}\n\n{}", name_here(std::string(*row.name)), *row.doc);
      if (*row.module != "Nx") out += fmt::format(" (`{}`)", *row.module);
      if (!row.differentiable) out += " No gradient, or zero.";
      if (row.elementwise && row.accuracy->ulp > 0)
        out += fmt::format(" At most {} units in the last place off in [{}, {}].",
                           row.accuracy->ulp, row.accuracy->low, row.accuracy->high);
      out += "\n\n```text\n";
      for (const auto& example : (*row.examples)())
        out += fmt::format("{}\n  -> {}\n", call_of(row, example), text_of(example.result));
      out += "```\n";
    }
  }
  return out;
}

std::string status(const std::string& catalogue) {
  std::set<std::string> here;
  for (const auto* family : nx::train::all_families())
    for (const auto& row : family->functions)
      here.insert(std::string(*row.module) + "." + name_here(std::string(*row.name)));
  std::map<std::string, std::pair<std::vector<std::string>, std::vector<std::string>>> modules;
  std::ifstream in(catalogue);
  if (!in) throw nx::IoError("status", "cannot read " + catalogue);
  for (std::string line; std::getline(in, line);) {
    const auto json = nlohmann::json::parse(line);
    const auto module = json.at("module").get<std::string>();
    const auto name = name_here(json.at("name").get<std::string>());
    auto& [there, missing] = modules[module];
    (here.count(module + "." + name) ? there : missing).push_back(name);
  }
  std::size_t all = 0, there_count = 0;
  std::string tables, lists;
  for (const auto& [module, lists_of] : modules) {
    const auto& [there, missing] = lists_of;
    all += there.size() + missing.size();
    there_count += there.size();
    tables += fmt::format("| {} | {} | {} |\n", module, there.size(), missing.size());
    const auto join = [](const std::vector<std::string>& names) {
      std::string text;
      for (const auto& name : names) text += (text.empty() ? "" : " ") + name;
      return text.empty() ? std::string("nothing") : text;
    };
    if (there.empty()) continue;
    lists += fmt::format("\n## {}\n\nThere: {}.\n\nNot there as a row: {}.\n", module, join(there),
                         join(missing));
  }
  return fmt::format(
      "# Status\n\nWritten by `nxpp-status` from the registry of functions and the reference's list "
      "of public functions\n(`tests/conformance/api.jsonl`). Transformations (jit, grad), donation, "
      "models and the loop are not\nfunctions with rows: see `include/nx/`.\n\n{} of {} "
      "functions have a row.\n\n| module | there | not there |\n|---|---|---|\n{}{}",
      there_count, all, tables, lists);
}

bool write_or_check(const std::string& path, const std::string& text, bool check) {
  if (!check) {
    std::ofstream(path) << text;
    return true;
  }
  std::ostringstream now;
  now << std::ifstream(path).rdbuf();
  if (now.str() == text) return true;
  std::cerr << path << " is not up to date: run nxpp-status\n";
  return false;
}

}  // namespace

int main(int argc, char** argv) try {
  const bool check = argc == 3 && std::string_view(argv[1]) == "--check";
  if (argc != 2 && !check) {
    std::cerr << "usage: nxpp-status [--check] SOURCE_FOLDER\n";
    return 2;
  }
  const std::string root = argv[argc - 1];
  const bool first = write_or_check(root + "/docs/operations.md", operations(), check);
  const bool second = write_or_check(
      root + "/docs/status.md", status(root + "/tests/conformance/api.jsonl"), check);
  return first && second ? 0 : 1;
} catch (const std::exception& e) {
  std::cerr << "nxpp-status: " << e.what() << "\n";
  return 2;
}
