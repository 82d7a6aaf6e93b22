// What the demo prints: pictures, predictions, the table.
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "demo.h"

namespace demo {
namespace {

constexpr const char* kClasses[] = {"T-shirt", "trouser", "pullover", "dress", "coat",
                                    "sandal",  "shirt",   "sneaker",  "bag",   "boot"};
constexpr int kSide = 28;

/// Two rows of an image as a line of half-height characters.
std::string line_of(const std::uint8_t* pixels, int row) {
  constexpr const char* kShades[] = {" ", "░", "▒", "▓", "█"};
  std::string line;
  for (int column = 0; column < kSide; ++column) {
    const int sum = pixels[row * kSide + column] + pixels[(row + 1) * kSide + column];
    line += kShades[std::min(4, sum / 2 / 51)];
  }
  return line;
}

struct Shown {
  const std::uint8_t* pixels;
  std::string caption;
};

/// Two images beside each other, captions below.
void draw(const Shown& left, const Shown& right) {
  for (int row = 0; row < kSide; row += 2)
    std::printf("   %s      %s\n", line_of(left.pixels, row).c_str(),
                line_of(right.pixels, row).c_str());
  std::printf("   %-*s      %s\n\n", kSide, left.caption.c_str(), right.caption.c_str());
}

std::string without_argument(const std::string& path) { return path.substr(path.find('.') + 1); }

/// The report in the width of a terminal: most leaves keep their path.
void print_report(const nx::DonationReport& report) {
  std::printf(
      "The donated step, leaf by leaf of its state, and whose memory takes which over:\n\n"
      "%-38s %-16s %-20s %9s\n",
      "leaf", "taken over by", "how", "bytes");
  for (const nx::DonationRow& row : report.rows) {
    const std::string leaf = without_argument(row.leaf);
    std::printf("%-38s %-16s %-20s %9s\n", leaf.c_str(),
                row.partner == leaf ? "its successor" : row.partner.c_str(), row.kind.c_str(),
                with_commas(row.bytes).c_str());
  }
  const std::int64_t peak =
      report.argument_bytes + report.result_bytes - report.aliased_bytes + report.temporary_bytes;
  std::printf(
      "\nIn bytes: arguments %s + results %s - aliased %s + temporaries %s\n"
      "= %s at the peak of a step; results of %s need no memory of their own.\n",
      with_commas(report.argument_bytes).c_str(), with_commas(report.result_bytes).c_str(),
      with_commas(report.aliased_bytes).c_str(), with_commas(report.temporary_bytes).c_str(),
      with_commas(peak).c_str(), with_commas(report.saved_bytes()).c_str());
}

bool have_same_bits(const std::vector<RunFigures>& runs) {
  return std::all_of(runs.begin(), runs.end(),
                     [&](const RunFigures& r) { return r.parameters == runs[0].parameters; });
}

}  // namespace

std::string with_commas(std::int64_t value) {
  std::string text = std::to_string(value);
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > (text[0] == '-' ? 1 : 0);
       at -= 3)
    text.insert(static_cast<std::size_t>(at), ",");
  return text;
}

void save_and_predict(const nx::nn::Model& model, const Data& data, const Trained& trained,
                      const Options& options) {
  nx::save(options.save, trained.state);
  nx::nn::ModelState loaded = model.init(0);
  nx::load(options.save, loaded);
  std::printf(
      "Saved to %s (%s bytes) and read back.\nWhat the network sees in four test images:\n\n",
      options.save.c_str(),
      with_commas(static_cast<std::int64_t>(std::filesystem::file_size(options.save))).c_str());
  const nx::data::Batches batches(data.test, {.batch_size = 64, .shuffle = false});
  const auto predict =
      nx::jit([&](nx::nn::ModelState s,
                  nx::Tensor x) { return nx::argmax(model.predict(s, x), {.axis = 1}); },
              {.name = "predict", .compiler = options.compiler});
  const auto classes = predict(loaded, batches.get(0, 0).first).to_flat_list<int>();
  const auto images = data.test.images.host<std::uint8_t>();
  const auto labels = data.test.labels.host<std::uint8_t>();
  // The first image of each of the first four kinds.
  std::vector<Shown> shown;
  std::vector<int> kinds;
  for (std::size_t i = 0; i < classes.size() && shown.size() < 4; ++i) {
    if (std::count(kinds.begin(), kinds.end(), labels[i]) != 0) continue;
    kinds.push_back(labels[i]);
    shown.push_back({images.data() + i * kSide * kSide,
                     std::string(kClasses[labels[i]]) + ", predicted " + kClasses[classes[i]]});
  }
  for (std::size_t i = 0; i + 1 < shown.size(); i += 2) draw(shown[i], shown[i + 1]);
}

void print_table(const std::vector<RunFigures>& runs, const Trained& trained) {
  std::printf("%-18s %12s %12s\n%-18s %12s %12s %9s %14s\n", "", "peak growth", "live growth",
              "run", "(bytes)", "(bytes)", "steps/s", "test accuracy");
  for (const RunFigures& r : runs)
    std::printf("%-18s %12s %12s %9.0f %14.4f\n", r.mode.c_str(),
                with_commas(r.peak_growth_bytes).c_str(), with_commas(r.live_growth_bytes).c_str(),
                r.steps_per_s, r.test_accuracy);
  std::printf(
      "\nThe state has %s bytes. Peak growth counts from the state, one batch and the data\n"
      "set in memory, before the first step; live growth is what stays after the last. A tensor\n"
      "is freed with its last handle, so a forced collection finds nothing to free. The\n"
      "trained parameters have %s bits in all runs.\n\n",
      with_commas(trained.state_bytes).c_str(), have_same_bits(runs) ? "the same" : "NOT the same");
  print_report(trained.donation_report);
}

}  // namespace demo
