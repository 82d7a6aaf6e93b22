// Threefry-2x32 for every SIMD target: a vector holds the same word of many blocks.
#include "kernels/threefry.h"

#include "kernels/threads.h"

#if defined(__aarch64__) || defined(__riscv)
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#endif
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/threefry.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace nx::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace {

template <int kLeft, class V>
void mix(V& x0, V& x1) {
  x0 = hn::Add(x0, x1);
  x1 = hn::Xor(hn::Or(hn::ShiftLeft<kLeft>(x1), hn::ShiftRight<32 - kLeft>(x1)), x0);
}

template <class D, class V>
void encrypt(D d, std::uint32_t key0, std::uint32_t key1, V& x0, V& x1) {
  const std::uint32_t keys[3] = {key0, key1, key0 ^ key1 ^ 0x1bd11bdau};
  x0 = hn::Add(x0, hn::Set(d, keys[0]));
  x1 = hn::Add(x1, hn::Set(d, keys[1]));
  for (std::uint32_t round = 0; round < 5; ++round) {
    if (round % 2 == 0) {
      mix<13>(x0, x1);
      mix<15>(x0, x1);
      mix<26>(x0, x1);
      mix<6>(x0, x1);
    } else {
      mix<17>(x0, x1);
      mix<29>(x0, x1);
      mix<16>(x0, x1);
      mix<24>(x0, x1);
    }
    x0 = hn::Add(x0, hn::Set(d, keys[(round + 1) % 3]));
    x1 = hn::Add(x1, hn::Set(d, keys[(round + 2) % 3] + round + 1));
  }
}

}  // namespace

/// Blocks [begin, end) of one key. Block i has the words i and half + i of counters and output; an
/// odd count lacks the last right word.
void threefry_blocks(const std::uint32_t* key, const std::uint32_t* counters, std::int64_t count,
                     std::int64_t begin, std::int64_t end, std::uint32_t* out) {
  const hn::ScalableTag<std::uint32_t> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t half = (count + 1) / 2;
  HWY_ALIGN std::uint32_t left[HWY_MAX_BYTES / 4], right[HWY_MAX_BYTES / 4];
  for (std::int64_t i = begin; i < end; i += lanes) {
    const std::int64_t n = end - i < lanes ? end - i : lanes;
    for (std::int64_t j = 0; j < n; ++j) {
      const std::int64_t second = half + i + j;
      left[j] = counters ? counters[i + j] : static_cast<std::uint32_t>(i + j);
      right[j] = second >= count ? 0
                 : counters      ? counters[second]
                                 : static_cast<std::uint32_t>(second);
    }
    auto x0 = hn::Load(d, left), x1 = hn::Load(d, right);
    encrypt(d, key[0], key[1], x0, x1);
    hn::Store(x0, d, left);
    hn::Store(x1, d, right);
    for (std::int64_t j = 0; j < n; ++j) {
      out[i + j] = left[j];
      if (half + i + j < count) out[half + i + j] = right[j];
    }
  }
}

}  // namespace nx::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nx::kernels {
namespace {
HWY_EXPORT(threefry_blocks);

class Threefry final : public PreparedKernel {
 public:
  explicit Threefry(const ThreefrySpec& spec) : spec_(spec) {}
  void run(const KernelCall& call) const override {
    const auto run_blocks = HWY_DYNAMIC_DISPATCH(threefry_blocks);
    const std::int64_t blocks = (spec_.count + 1) / 2;
    for (std::int64_t k = 0; k < spec_.keys; ++k) {
      const auto* const key = static_cast<const std::uint32_t*>(call.in[0]) + 2 * k;
      const auto* const counters =
          spec_.own_counters ? static_cast<const std::uint32_t*>(call.in[1]) + k * spec_.count
                             : nullptr;
      auto* const out = static_cast<std::uint32_t*>(call.out[0]) + k * spec_.count;
      parallel_for(blocks, call.threads, [&](std::int64_t begin, std::int64_t end) {
        run_blocks(key, counters, spec_.count, begin, end, out);
      });
    }
  }
  double cost_us() const override {
    return static_cast<double>(spec_.keys) * static_cast<double>(spec_.count) * 2e-3;
  }

 private:
  ThreefrySpec spec_;
};

}  // namespace

std::unique_ptr<PreparedKernel> prepare_threefry(const ThreefrySpec& spec) {
  return std::make_unique<Threefry>(spec);
}

}  // namespace nx::kernels
#endif
