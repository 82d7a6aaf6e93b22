// Training and measuring one run.
#include <cstdio>

#include "demo.h"

namespace demo {
namespace {

constexpr std::int64_t kBatch = 128;

std::int64_t bytes_of(const nx::Tensor& t) {
  return t.size() * static_cast<std::int64_t>(nx::byte_size_of(t.type()));
}

template <class T>
std::int64_t leaf_bytes(const T& container) {
  std::int64_t bytes = 0;
  nx::detail::for_each_leaf(container, [&](const nx::Tensor& t) { bytes += bytes_of(t); });
  return bytes;
}

/// The batches of one training run, on the device already: a reader thread beside the step would
/// add its own buffers to the growth that is measured.
std::vector<nx::train::Batch> batches_of(const nx::data::Labelled& data, std::uint64_t seed) {
  const nx::data::Batches batches(data, {.batch_size = kBatch, .seed = seed});
  std::vector<nx::train::Batch> list;
  for (std::int64_t i = 0; i < batches.count(); ++i) list.push_back(batches.get(0, i));
  return list;
}

double accuracy_on(const nx::nn::Model& model, const nx::nn::ModelState& state,
                   const nx::data::Labelled& test, const std::string& compiler) {
  const nx::data::Batches batches(test, {.batch_size = 1000, .shuffle = false, .drop_last = false});
  return nx::train::evaluate(model, state, nx::train::source(batches),
                             {{"accuracy", nx::nn::accuracy}}, compiler)
      .at("accuracy");
}

}  // namespace

Data read_data(const std::string& folder) {
  const auto at = [&](const char* name) { return folder + "/" + name; };
  return {nx::data::read_labelled(at("train-images-idx3-ubyte.gz"),
                                  at("train-labels-idx1-ubyte.gz"), 10),
          nx::data::read_labelled(at("t10k-images-idx3-ubyte.gz"), at("t10k-labels-idx1-ubyte.gz"),
                                  10)};
}

nx::nn::Model make_model() {
  auto model = nx::nn::input("image", {-1, 784});
  model = nx::nn::dense(model, 90, {.activation = "relu"});
  model = nx::nn::dense(model, 32, {.activation = "relu"});
  return nx::nn::dense(model, 10);
}

RunFigures train(const nx::nn::Model& model, const Data& data, const std::string& mode,
                 const std::string& compiler, std::int64_t epochs, Trained& trained) {
  const auto loop_of = [&] {
    return nx::train::trainer(model, "categorical_cross_entropy", nx::optim::adam());
  };
  auto loop = loop_of();
  loop.metric("accuracy", nx::nn::accuracy).log(50);
  nx::train::RunOptions options;
  options.epochs = epochs;
  options.compiler = compiler;
  options.donate_state = mode == "donated";
  options.force_garbage_collection = mode == "forced_collection";

  // The state lies on the compiler's device from the start; one step of another loop compiles and
  // puts it there.
  nx::train::StepState state = loop.init();
  std::vector<nx::train::Batch> list = batches_of(data.train, 1);
  if (compiler != "host") {
    const auto place = nx::jit([](nx::train::StepState s) { return s; }, {.compiler = compiler});
    state = place(state);
    const auto place_batch =
        nx::jit([](nx::Tensor x, nx::Tensor y) { return std::pair(x, y); }, {.compiler = compiler});
    for (auto& [x, y] : list) std::tie(x, y) = place_batch(x, y);
  }
  double steps_per_s = 0;
  loop.handle_event(nx::train::Event::epoch_completed, [&](const nx::train::Progress& p) {
    steps_per_s = std::max(steps_per_s, p.steps_per_second);
    return nx::train::Action::proceed;
  });
  trained.state_bytes = leaf_bytes(state.model_state) + leaf_bytes(state.optimizer_state);

  const auto source = nx::train::source(list);
  const std::string device = compiler == "host" ? "host" : "xla";
  const auto before = static_cast<std::int64_t>(nx::memory::stats(device).live);
  nx::memory::reset_peak(device);
  state = loop.run(source, std::move(state), options);
  nx::wait(state);
  const nx::memory::Stats after = nx::memory::stats(device);

  RunFigures figures;
  figures.mode = mode;
  figures.peak_growth_bytes = static_cast<std::int64_t>(after.peak) - before;
  figures.live_growth_bytes = static_cast<std::int64_t>(after.live) - before;
  figures.steps_per_s = steps_per_s;
  figures.test_accuracy = accuracy_on(model, state.model_state, data.test, compiler);
  std::printf("test accuracy %.4f\n\n", figures.test_accuracy);
  trained.state = state.model_state;
  if (options.donate_state) trained.donation_report = loop.donation_report().to_string();
  return figures;
}

}  // namespace demo
