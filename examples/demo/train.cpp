// Training and measuring one run.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "demo.h"

namespace demo {
namespace {

constexpr std::int64_t kBatch = 128;

template <class T>
std::int64_t leaf_bytes(const T& container) {
  std::int64_t bytes = 0;
  nx::detail::for_each_leaf(container, [&](const nx::Tensor& t) {
    bytes += t.size() * static_cast<std::int64_t>(nx::byte_size_of(t.type()));
  });
  return bytes;
}

template <class T>
std::vector<std::byte> bits_of(const T& container) {
  std::vector<std::byte> all;
  nx::detail::for_each_leaf(container, [&](const nx::Tensor& t) {
    const auto bytes = nx::to_binary(t);
    all.insert(all.end(), bytes.begin(), bytes.end());
  });
  return all;
}

/// A copy on the compiler's device.
template <class T>
T on_device(const T& container, const std::string& compiler) {
  return nx::jit([](T c) { return c; }, {.name = "on_device", .compiler = compiler})(container);
}

std::int64_t live_on(const std::vector<std::string>& devices) {
  std::int64_t bytes = 0;
  for (const std::string& device : devices)
    bytes += static_cast<std::int64_t>(nx::memory::stats(device).live);
  return bytes;
}

/// Growth of memory on the compiler's device and, where that is another one, on the host, whose
/// batches are copied to it. The baseline is what is there (state and data set) and one batch.
class Meter {
 public:
  Meter(const nx::data::Batches& batches, const std::string& compiler) : devices_{"host"} {
    if (compiler != "host") devices_.push_back(compiler);
    live_ = live_on(devices_);
    const nx::train::Batch batch = batches.get(0, 0);
    std::optional<nx::train::Batch> copy;
    if (compiler != "host") copy = on_device(batch, compiler);
    baseline_ = live_on(devices_);
  }
  void start() const {
    for (const std::string& device : devices_) nx::memory::reset_peak(device);
  }
  void stop(RunFigures& figures) const {
    figures.live_growth_bytes = live_on(devices_) - live_;
    figures.peak_growth_bytes = -baseline_;
    for (const std::string& device : devices_)
      figures.peak_growth_bytes += static_cast<std::int64_t>(nx::memory::stats(device).peak);
  }

 private:
  std::vector<std::string> devices_;
  std::int64_t live_ = 0, baseline_ = 0;
};

double accuracy_on(const nx::nn::Model& model, const nx::nn::ModelState& state,
                   const nx::data::Labelled& test, const std::string& compiler) {
  const nx::data::Batches batches(test, {.batch_size = 1000, .shuffle = false, .drop_last = false});
  return nx::train::evaluate(model, state, nx::train::source(batches),
                             {{"accuracy", nx::nn::accuracy}}, compiler)
      .at("accuracy");
}

}  // namespace

Data read_data(const std::string& folder) {
  if (!std::filesystem::is_directory(folder))
    throw nx::IoError("--data",
                      folder + ": expected the folder of Fashion-MNIST's files, got " +
                          (std::filesystem::exists(folder) ? "a file" : "nothing there") +
                          "; install Debian's package dataset-fashion-mnist, or give --data");
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
                 const Options& o, Trained& trained) {
  auto loop = nx::train::trainer(model, "categorical_cross_entropy",
                                 nx::optim::adam({.learning_rate = 1e-3}));
  loop.metric("accuracy", nx::nn::accuracy).log(::isatty(STDERR_FILENO) ? 50 : 0);
  double steps_per_s = 0;  // of the best epoch: the first one compiles
  loop.handle_event(nx::train::Event::epoch_completed, [&](const nx::train::Progress& p) {
    steps_per_s = std::max(steps_per_s, p.steps_per_second);
    return nx::train::Action::proceed;
  });

  // Pixels stay bytes; each batch is made when it is asked for, so that one at a time is in memory.
  const nx::data::Batches batches(data.train, {.batch_size = kBatch, .seed = o.seed});
  const auto source = nx::train::source(batches, 0);
  nx::train::StepState state = on_device(loop.init(o.seed), o.compiler);
  trained.state_bytes = leaf_bytes(state.model_state) + leaf_bytes(state.optimizer_state);

  const Meter meter(batches, o.compiler);
  meter.start();
  state = loop.run(source, std::move(state),
                   {.epochs = o.epochs,
                    .compiler = o.compiler,
                    .donate_state = mode == "donated",
                    .force_garbage_collection = mode == "forced_collection"});
  nx::wait(state);
  RunFigures figures;
  figures.mode = mode;
  meter.stop(figures);

  figures.steps_per_s = steps_per_s;
  figures.test_accuracy = accuracy_on(model, state.model_state, data.test, o.compiler);
  figures.parameters = bits_of(state.model_state);
  trained.state = state.model_state;
  if (mode == "donated") trained.donation_report = loop.donation_report();
  return figures;
}

}  // namespace demo
