// What the demo prints: pictures, predictions, the table.
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "demo.h"

namespace demo {
namespace {

constexpr const char* kClasses[] = {"T-shirt", "trouser", "pullover", "dress", "coat",
                                    "sandal",  "shirt",   "sneaker",  "bag",   "boot"};

/// A 28x28 image as 14 lines of half-height characters.
void draw(const std::uint8_t* pixels) {
  constexpr const char* kShades[] = {" ", "░", "▒", "▓", "█"};
  for (int row = 0; row < 28; row += 2) {
    for (int column = 0; column < 28; ++column) {
      const int shade = (pixels[row * 28 + column] + pixels[(row + 1) * 28 + column]) / 2;
      std::fputs(kShades[std::min(4, shade / 51)], stdout);
    }
    std::fputs("\n", stdout);
  }
}

std::string with_commas(std::int64_t value) {
  std::string text = std::to_string(value);
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > (text[0] == '-' ? 1 : 0); at -= 3)
    text.insert(static_cast<std::size_t>(at), ",");
  return text;
}

}  // namespace

void save_and_predict(const nx::nn::Model& model, const Data& data, const Trained& trained,
                      const std::string& compiler) {
  const std::string path =
      (std::filesystem::temp_directory_path() / "nxpp_demo.safetensors").string();
  nx::save(path, trained.state);
  nx::nn::ModelState loaded = model.init(1);
  nx::load(path, loaded);
  std::printf("saved to %s (%s bytes), read back; predictions with it:\n\n", path.c_str(),
              with_commas(static_cast<std::int64_t>(std::filesystem::file_size(path))).c_str());
  constexpr int kShown = 4;
  const nx::data::Batches batches(data.test, {.batch_size = kShown, .shuffle = false});
  const auto predict = nx::jit(
      [&](nx::nn::ModelState s, nx::Tensor x) {
        return nx::argmax(model.predict(s, x), {.axis = 1});
      },
      {.name = "predict", .compiler = compiler});
  const auto classes = predict(loaded, batches.get(0, 0).first).to_flat_list<int>();
  const auto images = data.test.images.host<std::uint8_t>();
  const auto labels = data.test.labels.host<std::uint8_t>();
  for (int i = 0; i < kShown; ++i) {
    draw(images.data() + i * 784);
    std::printf("%s, predicted %s\n\n", kClasses[labels[static_cast<std::size_t>(i)]],
                kClasses[classes[static_cast<std::size_t>(i)]]);
  }
}

void print_table(const std::vector<RunFigures>& runs, const Trained& trained) {
  std::printf("%-18s %18s %18s %10s %14s\n", "run", "peak growth (B)", "live growth (B)", "steps/s",
              "test accuracy");
  for (const RunFigures& r : runs)
    std::printf("%-18s %18s %18s %10.0f %14.4f\n", r.mode.c_str(),
                with_commas(r.peak_growth_bytes).c_str(), with_commas(r.live_growth_bytes).c_str(),
                r.steps_per_s, r.test_accuracy);
  std::printf("\nbytes of the state: %s\n\nthe donated step, leaf by leaf:\n%s",
              with_commas(trained.state_bytes).c_str(), trained.donation_report.c_str());
}

}  // namespace demo
