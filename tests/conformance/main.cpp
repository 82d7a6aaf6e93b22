// nxpp-conformance: runs recorded cases of the reference against this library.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>

#include "conformance/differences.h"
#include "conformance/run.h"
#include "nx/jit.h"

namespace fs = std::filesystem;
using namespace nx::conformance;

namespace {

struct Counts {
  int passed = 0, failed = 0, skipped = 0;
  void add(Verdict::Kind kind) {
    ++(kind == Verdict::Kind::passed   ? passed
       : kind == Verdict::Kind::failed ? failed
                                       : skipped);
  }
};

std::vector<fs::path> case_files(const std::vector<std::string>& folders) {
  std::vector<fs::path> files;
  for (const fs::path folder : folders) {
    if (!fs::exists(folder))
      throw nx::IoError("conformance", fmt::format("{} does not exist", folder.string()));
    if (!fs::is_directory(folder)) {
      files.push_back(folder);
      continue;
    }
    for (const auto& entry : fs::directory_iterator(folder))
      if (entry.path().extension() == ".jsonl") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app{"Runs recorded cases of the reference, *.jsonl in the folders given."};
  Setup setup;
  std::string mode, function, differences_file = NXPP_CONFORMANCE_DIFFERENCES;
  bool by_function = false;
  std::vector<std::string> folders;
  app.add_option("--compiler", setup.compiler, "host or xla")
      ->check(CLI::IsMember({"host", "xla"}));
  app.add_option("--mode", mode, "eager or jit; by default eager on the host, jit on xla")
      ->check(CLI::IsMember({"eager", "jit"}));
  app.add_option("--function", function, "only cases of this function, such as Nx.add");
  app.add_flag("--by-function", by_function, "counts for each function");
  app.add_option("--differences", differences_file, "deliberate differences, as data");
  app.add_option("DIR", folders, "folders of cases, or single files")->required();
  CLI11_PARSE(app, argc, argv);
  setup.mode = mode == "jit" || (mode.empty() && setup.compiler == "xla") ? Mode::jit : Mode::eager;

  if (setup.compiler == "xla") {
    try {
      nx::jit([](nx::Tensor x) { return x; }, {.compiler = "xla"})(1);
    } catch (const nx::BackendError& e) {
      std::cerr << "nxpp-conformance: " << e.what() << "\n";
      return 77;  // a skipped test for CTest
    }
  }
  const Differences differences(differences_file);
  Counts total;
  std::map<std::string, Counts> functions;
  std::map<std::string, std::map<std::string, int>> skipped;  // reason, function
  for (const fs::path& file : case_files(folders))
    read_cases(file, [&](Case&& c) {
      if (!function.empty() && c.fn != function) return;
      differences.apply(c);
      const Verdict verdict = judge(c, setup);
      total.add(verdict.kind);
      functions[c.fn].add(verdict.kind);
      if (verdict.kind == Verdict::Kind::skipped) ++skipped[verdict.message][c.fn];
      if (verdict.kind == Verdict::Kind::failed)
        std::cout << fmt::format("FAIL {} {}{}: {}\n", file.filename().string(), c.id,
                                 c.desc.empty() ? "" : " (" + c.desc + ")", verdict.message)
                  << std::flush;
    });
  if (by_function)
    for (const auto& [name, counts] : functions)
      std::cout << fmt::format("{:<48} {:>5} passed {:>5} failed {:>5} skipped\n", name,
                               counts.passed, counts.failed, counts.skipped);
  for (const auto& [reason, names] : skipped) {
    std::cout << "Skipped, " << reason << ":";
    for (const auto& [name, count] : names) std::cout << fmt::format(" {} ({})", name, count);
    std::cout << "\n";
  }
  std::cout << fmt::format("{} passed, {} failed, {} skipped\n", total.passed, total.failed,
                           total.skipped);
  return total.failed == 0 ? 0 : 1;
} catch (const std::exception& e) {
  std::cerr << "nxpp-conformance: " << e.what() << "\n";
  return 2;
}
