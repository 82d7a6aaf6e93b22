// Shuffled batches, and the thread that prepares them.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "graph/dispatch.h"
#include "nx/data.h"

namespace nx::data {
namespace {

/// SplitMix64 (Steele, Lea and Flood 2014): the same numbers everywhere, unlike <random>'s
/// distributions.
struct Random {
  std::uint64_t state;
  std::uint64_t next() {
    std::uint64_t z = (state += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  /// In [0, n), without bias that matters: n is below 2^32.
  std::uint32_t below(std::uint32_t n) {
    return static_cast<std::uint32_t>(((next() >> 32) * std::uint64_t{n}) >> 32);
  }
};

}  // namespace

Batches::Batches(Labelled data, BatchOptions options) : data_(std::move(data)), options_(options) {
  const Shape shape = data_.images.shape();
  rows_ = shape.empty() ? 0 : shape[0];
  if (data_.images.type() != DType::u8 || data_.labels.type() != DType::u8)
    throw ArgumentError("Batches",
                        fmt::format("expected images and labels of type u8, got {} and {}",
                                    nx::to_string(data_.images.type(), shape),
                                    nx::to_string(data_.labels.type(), data_.labels.shape())));
  if (rows_ == 0)
    throw ArgumentError("Batches", fmt::format("the data set is empty; expected images with rows, "
                                               "got {}",
                                               nx::to_string(data_.images.type(), shape)));
  if (data_.labels.size() != rows_)
    throw ArgumentError("Batches",
                        fmt::format("expected {} labels, got {}", rows_, data_.labels.size()));
  if (options_.batch_size < 1 || options_.batch_size > rows_)
    throw ArgumentError("Batches", fmt::format("expected a batch size of 1 to {} (the rows of the "
                                               "data set), got {}",
                                               rows_, options_.batch_size));
  features_ = data_.images.size() / rows_;
  count_ = options_.drop_last ? rows_ / options_.batch_size
                              : (rows_ + options_.batch_size - 1) / options_.batch_size;
}

const std::vector<std::uint32_t>& Batches::order_of(std::int64_t epoch) const {
  if (order_epoch_ == epoch) return order_;
  order_.resize(static_cast<std::size_t>(rows_));
  std::iota(order_.begin(), order_.end(), 0u);
  Random random{options_.seed * 0x9e3779b97f4a7c15ull + static_cast<std::uint64_t>(epoch)};
  if (options_.shuffle)
    for (auto i = static_cast<std::uint32_t>(rows_); i > 1; --i)
      std::swap(order_[i - 1], order_[random.below(i)]);
  order_epoch_ = epoch;
  return order_;
}

std::pair<Tensor, Tensor> Batches::get(std::int64_t epoch, std::int64_t index) const {
  if (index < 0 || index >= count_)
    throw ArgumentError("Batches",
                        fmt::format("expected a batch of 0 to {}, got {}", count_ - 1, index));
  const std::int64_t first = index * options_.batch_size;
  const std::int64_t size = std::min(options_.batch_size, rows_ - first);
  std::vector<std::uint32_t> rows;
  {
    const std::lock_guard lock(mutex_);
    const auto& order = order_of(epoch);
    rows.assign(order.begin() + first, order.begin() + first + size);
  }
  Tensor x = graph::new_tensor(DType::f32, {size, features_});
  Tensor y = graph::new_tensor(DType::s32, {size});
  const auto images = data_.images.host<std::uint8_t>();
  const auto labels = data_.labels.host<std::uint8_t>();
  float* pixels = graph::data_of<float>(x);
  auto* const classes = graph::data_of<std::int32_t>(y);
  const float scale = options_.scale;
  for (std::size_t i = 0; i < rows.size(); ++i, pixels += features_) {
    const std::uint8_t* const from = images.data() + std::size_t{rows[i]} * features_;
    for (std::int64_t k = 0; k < features_; ++k) pixels[k] = static_cast<float>(from[k]) * scale;
    classes[i] = labels[rows[i]];
  }
  return {std::move(x), std::move(y)};
}

Prefetch::Prefetch(const Batches& batches, std::int64_t epoch, int ahead)
    : batches_(batches),
      epoch_(epoch),
      ahead_([ahead] {
        if (ahead < 1)
          throw ArgumentError("Prefetch",
                              fmt::format("expected at least 1 batch ahead, got {}", ahead));
        return static_cast<std::size_t>(ahead);
      }()),
      thread_([this] { work(); }) {}

Prefetch::~Prefetch() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Prefetch::work() {
  try {
    for (std::int64_t i = 0; i < batches_.count(); ++i) {
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return stop_ || ready_.size() < ahead_; });
        if (stop_) return;
      }
      auto batch = batches_.get(epoch_, i);
      {
        const std::lock_guard lock(mutex_);
        ready_.push_back(std::move(batch));
      }
      changed_.notify_all();
    }
  } catch (...) {
    const std::lock_guard lock(mutex_);
    failure_ = std::current_exception();
  }
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  changed_.notify_all();
}

std::optional<std::pair<Tensor, Tensor>> Prefetch::next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return done_ || !ready_.empty(); });
  if (ready_.empty()) {
    if (failure_) std::rethrow_exception(failure_);
    return std::nullopt;
  }
  auto batch = std::move(ready_.front());
  ready_.pop_front();
  lock.unlock();
  changed_.notify_all();
  return batch;
}

}  // namespace nx::data
