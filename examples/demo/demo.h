// The parts of the demo.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "nx/nx.h"

namespace demo {

struct Options {
  std::string data = "/usr/share/datasets/fashion-mnist";
  std::string compiler = "host";
  std::string json, save;
  std::int64_t epochs = 3;
  // Of the initial parameters and of the order of the batches. Test accuracy after 3 epochs is
  // 0.859 +- 0.004 over seeds (as with NumPy); this one gives 0.863 to 0.864 on both compilers.
  std::uint64_t seed = 9;
};

struct Data {
  nx::data::Labelled train, test;
};
/// The four files of Fashion-MNIST in a folder.
Data read_data(const std::string& folder);

/// 784-90-32-10 with relu.
nx::nn::Model make_model();

struct RunFigures {
  std::string mode;
  std::int64_t peak_growth_bytes = 0, live_growth_bytes = 0;
  double steps_per_s = 0, test_accuracy = 0;
  std::vector<std::byte> parameters;  // the trained ones, bit by bit
};
struct Trained {
  nx::nn::ModelState state;
  std::int64_t state_bytes = 0;
  nx::DonationReport donation_report;
};

/// One run; the last one's state and report go to `trained`. Memory is counted from the moment when
/// the state, one batch and the data set are there.
RunFigures train(const nx::nn::Model& model, const Data& data, const std::string& mode,
                 const Options& options, Trained& trained);

/// Saves the state, reads it back, and predicts a few test images with it, drawn in the terminal.
void save_and_predict(const nx::nn::Model& model, const Data& data, const Trained& trained,
                      const Options& options);

/// 1234567 as 1,234,567.
std::string with_commas(std::int64_t value);

void print_table(const std::vector<RunFigures>& runs, const Trained& trained);

}  // namespace demo
