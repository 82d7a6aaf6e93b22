// Our side of the benchmarks: `nxpp_bench_suite WORKLOAD…` prints one line of JSON for each.
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>

#include "nx/nx.h"
#include "suite.h"

namespace bench {

bool has_xla() {
  static const bool has = [] {
    try {
      nx::jit([](nx::Tensor x) { return x + 1; }, {.compiler = "xla"})(1.f);
      return true;
    } catch (const nx::Error& error) {
      std::fprintf(stderr, "no XLA: %s\n", error.what());
      return false;
    }
  }();
  return has;
}

}  // namespace bench

int main(int count, char** arguments) {
  const std::map<std::string, std::function<bench::Results()>> workloads = {
      {"mlp_adam", bench::mlp_adam}, {"dispatch", bench::dispatch}, {"swapped", bench::swapped}};
  for (int i = 1; i < count; ++i) {
    const auto found = workloads.find(arguments[i]);
    if (found == workloads.end()) {
      std::fprintf(stderr, "unknown workload '%s'; known:", arguments[i]);
      for (const auto& [name, run] : workloads) std::fprintf(stderr, " %s", name.c_str());
      std::fprintf(stderr, "\n");
      return 2;
    }
    std::puts(nlohmann::json{{"workload", found->first}, {"results", found->second()}}.dump().c_str());
  }
}
