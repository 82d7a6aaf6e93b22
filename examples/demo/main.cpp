// The demo: trains a network of 73,892 parameters on Fashion-MNIST three times (plain, with forced
// collection, with donated state) and shows what each costs in memory.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "demo.h"

namespace {

struct Options {
  std::string data = "/usr/share/datasets/fashion-mnist";
  std::string compiler = "host";
  std::string json;
  std::int64_t epochs = 3;
};

Options parse(int count, char** arguments) {
  Options o;
  CLI::App app{"Trains a small network on Fashion-MNIST and shows what donation saves."};
  app.add_option("--data", o.data, "Folder of the four IDX files")->capture_default_str();
  app.add_option("--compiler", o.compiler, "host or xla")
      ->check(CLI::IsMember({"host", "xla"}))->capture_default_str();
  app.add_option("--epochs", o.epochs, "Epochs of each run")
      ->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--json", o.json, "Also write the figures to this file");
  try {
    app.parse(count, arguments);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error));
  }
  return o;
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
  if (!file) throw nx::IoError("demo", path + ": cannot be written");
}

int run(const Options& o) {
  const demo::Data data = demo::read_data(o.data);
  const nx::nn::Model model = demo::make_model();
  std::printf("%s\n", model.as_table().c_str());
  std::vector<demo::RunFigures> runs;
  demo::Trained trained;
  for (const char* mode : {"plain", "forced_collection", "donated"}) {
    std::printf("training, %s\n", mode);
    runs.push_back(demo::train(model, data, mode, o.compiler, o.epochs, trained));
  }
  demo::save_and_predict(model, data, trained, o.compiler);
  demo::print_table(runs, trained);
  if (!o.json.empty()) write_json(o.json, trained.state_bytes, runs);
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  const Options options = parse(count, arguments);
  try {
    return run(options);
  } catch (const nx::Error& error) {
    std::fprintf(stderr, "demo: %s\n", error.what());
    return 1;
  }
}
