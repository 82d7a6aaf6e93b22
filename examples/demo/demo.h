// The parts of the demo.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nx/nx.h"

namespace demo {

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
};
struct Trained {
  nx::nn::ModelState state;
  std::int64_t state_bytes = 0;
  std::string donation_report;
};

/// One run; the last one's state and report go to `trained`. Memory is counted from the moment when
/// the state, one batch and the data set are there.
RunFigures train(const nx::nn::Model& model, const Data& data, const std::string& mode,
                 const std::string& compiler, std::int64_t epochs, Trained& trained);

/// Saves the state, reads it back, and predicts a few test images with it, drawn in the terminal.
void save_and_predict(const nx::nn::Model& model, const Data& data, const Trained& trained,
                      const std::string& compiler);

void print_table(const std::vector<RunFigures>& runs, const Trained& trained);

}  // namespace demo
