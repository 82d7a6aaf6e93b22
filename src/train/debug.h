// What RunOptions::debug tells: lines on the caller's stream, with times.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <ostream>

#include "nx/loop.h"

namespace nx::train {

class Stopwatch {
 public:
  double ms() const {
    return std::chrono::duration<double, std::milli>(Clock::now() - begin_).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin_ = Clock::now();
};

class DebugLog {
 public:
  explicit DebugLog(std::ostream* out) : out_(out) {}
  explicit operator bool() const noexcept { return out_ != nullptr; }

  template <class... A>
  void line(fmt::format_string<A...> text, A&&... arguments) const {
    if (out_) *out_ << "loop: " << fmt::format(text, std::forward<A>(arguments)...) << '\n';
  }
  void options(const RunOptions& options, bool trains) const;
  /// Leaves with types and shapes, and their bytes.
  void state(const StepState& state) const;
  void batch(std::int64_t epoch, std::int64_t iteration, const Batch& batch, double ms) const;

 private:
  std::ostream* out_;
};

/// `f32[128, 784]`
std::string described(const Tensor& tensor);

}  // namespace nx::train
