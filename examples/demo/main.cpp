// The demo: trains a network of 73,892 parameters on Fashion-MNIST three times (plain, with forced
// collection, with donated state) and shows what each costs in memory.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "demo.h"

namespace {

using demo::Options;

struct Mode {
  const char *name, *meaning;
};
constexpr Mode kModes[] = {
    {"plain", "each step makes the new state beside the old one"},
    {"forced_collection", "as plain, and what is free goes back to the system after each step"},
    {"donated", "each step writes the new state over the old one"},
};

Options parse(int count, char** arguments) {
  Options o;
  const auto temporary = std::filesystem::temp_directory_path();
  o.save = temporary / ("nxpp_demo_" + std::to_string(::getuid()) + ".safetensors");
  CLI::App app{"Trains a small network on Fashion-MNIST and shows what donation saves."};
  app.add_option("--data", o.data, "Folder of the four IDX files")->capture_default_str();
  app.add_option("--compiler", o.compiler, "host or xla")
      ->check(CLI::IsMember({"host", "xla"}))
      ->capture_default_str();
  app.add_option("--epochs", o.epochs, "Epochs of each run")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--seed", o.seed, "Of the initial parameters and of the order of the batches")
      ->check(CLI::Range(0, std::numeric_limits<int>::max()))
      ->capture_default_str();
  app.add_option("--save", o.save, "File for the trained parameters")->capture_default_str();
  app.add_option("--json", o.json, "Also write the figures to this file");
  try {
    app.parse(count, arguments);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error));
  }
  return o;
}

/// Found out before the training, not after it.
void check_writable(const char* option, const std::string& path) {
  const bool is_new = !std::filesystem::exists(path);
  if (!std::ofstream(path, std::ios::app)) throw nx::IoError(option, path + ": cannot be written");
  if (is_new) std::filesystem::remove(path);
}

void check_different_files(const Options& o) {
  if (!o.json.empty() &&
      std::filesystem::weakly_canonical(o.json) == std::filesystem::weakly_canonical(o.save))
    throw nx::ArgumentError("--json", o.json + ": expected another file than that of --save");
}

void write_json(const std::string& path, std::int64_t state_bytes,
                const std::vector<demo::RunFigures>& runs) {
  nlohmann::json report{{"state_bytes", state_bytes}, {"runs", nlohmann::json::array()}};
  for (const demo::RunFigures& r : runs)
    report["runs"].push_back({{"mode", r.mode},
                              {"peak_growth_bytes", r.peak_growth_bytes},
                              {"live_growth_bytes", r.live_growth_bytes},
                              {"steps_per_s", r.steps_per_s},
                              {"test_accuracy", r.test_accuracy}});
  std::ofstream file(path);
  file << report.dump(2) << "\n";
  if (!file.flush()) throw nx::IoError("--json", path + ": cannot be written");
}

void run(const Options& o) {
  check_different_files(o);
  check_writable("--save", o.save);
  if (!o.json.empty()) check_writable("--json", o.json);
  const demo::Data data = demo::read_data(o.data);
  const nx::nn::Model model = demo::make_model();
  std::printf(
      "Fashion-MNIST: %s images to learn from, %s to test with; compiler %s.\n"
      "The network, its layers, their outputs and parameters:\n\n%s\n",
      demo::with_commas(data.train.labels.size()).c_str(),
      demo::with_commas(data.test.labels.size()).c_str(), o.compiler.c_str(),
      model.as_table().c_str());
  std::vector<demo::RunFigures> runs;
  demo::Trained trained;
  for (const Mode& mode : kModes) {
    std::printf("Run %zu of 3, %s: %s.\n", runs.size() + 1, mode.name, mode.meaning);
    runs.push_back(demo::train(model, data, mode.name, o, trained));
    std::printf("Accuracy on the test images: %.4f.\n\n", runs.back().test_accuracy);
  }
  demo::save_and_predict(model, data, trained, o);
  demo::print_table(runs, trained);
  if (!o.json.empty()) write_json(o.json, trained.state_bytes, runs);
}

}  // namespace

int main(int count, char** arguments) {
  // Whole lines, in order with those on stderr, also where stdout is a pipe or a file.
  std::setvbuf(stdout, nullptr, _IOLBF, 1 << 16);
  try {
    run(parse(count, arguments));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "nxpp_demo: %s\n", error.what());
    return 1;
  }
}
