// layer: data
// Data sets: IDX files, shuffled batches, and a thread that prepares batches ahead.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "nx/tensor.h"

namespace nx::data {

/// A tensor from an IDX file (the format of MNIST: big-endian magic `0 0 type rank`, sizes,
/// values), gzipped or plain. Types u8, s8, s16, s32, f32, f64. Throws IoError, naming the file,
/// the offset, what was expected and what is there, for anything but a whole, well-formed file.
NX_API Tensor read_idx(const std::string& path);

/// Images u8[n, …] and labels u8[n].
struct Labelled {
  Tensor images, labels;
};
/// Reads both files. Throws IoError when their counts differ or a label is not below `classes`;
/// ArgumentError unless there is a class.
NX_API Labelled read_labelled(const std::string& images, const std::string& labels, int classes);

struct BatchOptions {
  std::int64_t batch_size = 128;
  std::uint64_t seed = 0;
  bool shuffle = true;
  bool drop_last = true;   ///< Leave out a last batch of fewer rows.
  float scale = 1.0f / 255;
};

/// Batches of a labelled data set: x f32[batch, features] (pixels times `scale`), y s32[batch].
/// The order of an epoch depends on seed and epoch number alone.
class NX_API Batches {
 public:
  /// Throws ArgumentError for an empty data set, or for a batch larger than it.
  Batches(Labelled data, BatchOptions options = {});
  std::int64_t count() const noexcept { return count_; }
  std::int64_t rows() const noexcept { return rows_; }
  /// Batch `index` of `epoch`, in buffers of its own.
  std::pair<Tensor, Tensor> get(std::int64_t epoch, std::int64_t index) const;

 private:
  const std::vector<std::uint32_t>& order_of(std::int64_t epoch) const;
  Labelled data_;
  BatchOptions options_;
  std::int64_t rows_ = 0, features_ = 0, count_ = 0;
  mutable std::mutex mutex_;
  mutable std::int64_t order_epoch_ = -1;
  mutable std::vector<std::uint32_t> order_;
};

/// Prepares the next batches of one epoch on a thread of its own, at most `ahead` of them.
class NX_API Prefetch {
 public:
  /// Throws ArgumentError unless `ahead` is at least 1.
  Prefetch(const Batches& batches, std::int64_t epoch, int ahead = 2);
  ~Prefetch();
  Prefetch(const Prefetch&) = delete;
  Prefetch& operator=(const Prefetch&) = delete;
  /// The next batch, or nothing after the last. Rethrows what the preparation threw.
  std::optional<std::pair<Tensor, Tensor>> next();

 private:
  void work();
  const Batches& batches_;
  const std::int64_t epoch_;
  const std::size_t ahead_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<Tensor, Tensor>> ready_;
  std::exception_ptr failure_;
  bool done_ = false, stop_ = false;
  std::thread thread_;
};

}  // namespace nx::data
