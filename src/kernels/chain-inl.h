// Links of chains (chain.h) out of per-element functions, for the SIMD target being compiled.
// Included like elementwise-inl.h. An operation is a link for the floats when it has `many` and
// says `kIsLink`.
#if defined(NX_CHAIN_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NX_CHAIN_INL_H_
#undef NX_CHAIN_INL_H_
#else
#define NX_CHAIN_INL_H_
#endif

#include <algorithm>
#include <utility>

#include "kernels/chain.h"
#include "kernels/elementwise-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nx::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Vectors that a link works on at once: they hide the latency of an operation, and eight are
/// passed in registers on every target.
inline constexpr std::size_t kChainVectors = 8;

template <class T, class Block = std::make_index_sequence<kChainVectors>>
struct Chains;

template <class T, std::size_t... kVector>
struct Chains<T, std::index_sequence<kVector...>> {
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;
  template <std::size_t>
  using Value = V;
  using Places = std::byte* const*;
  using BlockCode = void (*)(const ChainLink*, Places, std::size_t first, Value<kVector>...);
  using RestCode = void (*)(const ChainLink*, Places, std::size_t first, std::size_t count, V);

  static T* address(std::uint32_t place, Places at) { return reinterpret_cast<T*>(at[place]); }
  // Up to one vector. Whole ones by plain moves: what is stored under a mask waits until it is in
  // the cache before it can be loaded, and the chain that follows does that at once.
  static V load(const T* from, std::size_t count) {
    const D d;
    return count == hn::Lanes(d) ? hn::LoadU(d, from) : load_some(d, from, count);
  }
  static void store(V value, T* to, std::size_t count) {
    const D d;
    if (count == hn::Lanes(d)) hn::StoreU(value, d, to);
    else store_some(d, value, to, count);
  }
  // The calls of the next link are in tail position: a jump, with the vectors where they are.
  static void pass_block(const ChainLink* link, Places at, std::size_t first,
                         Value<kVector>... value) {
    reinterpret_cast<BlockCode>(link->code.block)(link, at, first, value...);
  }
  static void pass_rest(const ChainLink* link, Places at, std::size_t first, std::size_t count,
                        V value) {
    reinterpret_cast<RestCode>(link->code.rest)(link, at, first, count, value);
  }

  /// An operation on a value in registers: vector `k` of a block, or up to one vector.
  template <class Op>
  struct Unary {
    Unary(const ChainLink*, Places, std::size_t) {}
    V block(V value, std::size_t) const { return Op::many(D(), value); }
    V rest(V value, std::size_t) const { return Op::many(D(), value); }
  };
  enum class Other { kMany, kOne, kScaled };
  template <class Op, bool kOnLeft, Other kOther>
  struct Binary {
    Binary(const ChainLink* link, Places at, std::size_t first)
        : other(address(link->place, at) + (kOther == Other::kOne ? 0 : first)),
          scale(address(kOther == Other::kScaled ? link->scale : link->place, at)) {}
    V block(V value, std::size_t k) const {
      const D d;
      if constexpr (kOther == Other::kOne) return apply(value, hn::Set(d, *other));
      else return apply(value, scaled(hn::LoadU(d, other + k * hn::Lanes(d))));
    }
    V rest(V value, std::size_t count) const {
      const D d;
      if constexpr (kOther == Other::kOne) return apply(value, hn::Set(d, *other));
      else return apply(value, scaled(load(other, count)));
    }
    V scaled(V operand) const {
      if constexpr (kOther == Other::kScaled) return hn::Mul(operand, hn::Set(D(), *scale));
      else return operand;
    }
    static V apply(V value, V operand) {
      if constexpr (kOnLeft) return Op::many(D(), value, operand);
      else return Op::many(D(), operand, value);
    }
    const T *other, *scale;
  };

  template <class Step>
  static void middle_block(const ChainLink* link, Places at, std::size_t first,
                           Value<kVector>... value) {
    const Step step(link, at, first);
    pass_block(link + 1, at, first, step.block(value, kVector)...);
  }
  template <class Step>
  static void middle_rest(const ChainLink* link, Places at, std::size_t first, std::size_t count,
                          V value) {
    pass_rest(link + 1, at, first, count, Step(link, at, first).rest(value, count));
  }

  static void store_block(const ChainLink* link, Places at, std::size_t first,
                          Value<kVector>... value) {
    const D d;
    T* const to = address(link->place, at) + first;
    (hn::StoreU(value, d, to + kVector * hn::Lanes(d)), ...);
  }
  static void store_rest(const ChainLink* link, Places at, std::size_t first, std::size_t count,
                         V value) {
    store(value, address(link->place, at) + first, count);
  }

  static void store_and_go_on_block(const ChainLink* link, Places at, std::size_t first,
                                    Value<kVector>... value) {
    store_block(link, at, first, value...);
    pass_block(link + 1, at, first, value...);
  }
  static void store_and_go_on_rest(const ChainLink* link, Places at, std::size_t first,
                                   std::size_t count, V value) {
    store_rest(link, at, first, count, value);
    pass_rest(link + 1, at, first, count, value);
  }

  /// The first operation: a value is loaded and the link after it consumed.
  template <class Step>
  static void begin_block(const ChainLink* link, Places at, std::size_t first) {
    const D d;
    const T* const from = address(link->place, at) + first;
    const Step step(link + 1, at, first);
    pass_block(link + 2, at, first,
               step.block(hn::LoadU(d, from + kVector * hn::Lanes(d)), kVector)...);
  }
  template <class Step>
  static void begin_rest(const ChainLink* link, Places at, std::size_t first, std::size_t count) {
    const V value = load(address(link->place, at) + first, count);
    pass_rest(link + 2, at, first, count, Step(link + 1, at, first).rest(value, count));
  }
  template <class Step>
  static void next_block(const ChainLink* link, Places at, std::size_t first, Value<kVector>...) {
    begin_block<Step>(link, at, first);
  }
  template <class Step>
  static void next_rest(const ChainLink* link, Places at, std::size_t first, std::size_t count, V) {
    begin_rest<Step>(link, at, first, count);
  }

  template <class Step>
  static void end_block(const ChainLink* link, Places at, std::size_t first,
                        Value<kVector>... value) {
    const Step step(link, at, first);
    store_block(link + 1, at, first, step.block(value, kVector)...);
  }
  template <class Step>
  static void end_rest(const ChainLink* link, Places at, std::size_t first, std::size_t count,
                       V value) {
    store_rest(link + 1, at, first, count, Step(link, at, first).rest(value, count));
  }

  template <class Step>
  static void run(const ChainLink* links, Places at, std::size_t count) {
    const std::size_t lanes = hn::Lanes(D()), block = lanes * kChainVectors;
    std::size_t i = 0;
    for (; i + block <= count; i += block) begin_block<Step>(links, at, i);
    for (; i < count; i += lanes) begin_rest<Step>(links, at, i, std::min(lanes, count - i));
    clean_registers();
  }
  /// The compiler takes it that a call leaves no wide values behind; links do, and whatever is not
  /// compiled for wide vectors would wait for them with every instruction, up to four times as long.
  static void clean_registers() {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
    _mm256_zeroupper();
#endif
  }

  static LinkCode code(BlockCode block, RestCode rest) {
    return {reinterpret_cast<ChainCode>(block), reinterpret_cast<ChainCode>(rest)};
  }
  template <class Step>
  static LinkForm link() {
    return {&run<Step>, code(&next_block<Step>, &next_rest<Step>),
            code(&middle_block<Step>, &middle_rest<Step>), code(&end_block<Step>, &end_rest<Step>)};
  }
  template <class Op, bool kOnLeft>
  static ChainForm::Binary binary() {
    ChainForm::Binary binary{
        link<Binary<Op, kOnLeft, Other::kMany>>(), link<Binary<Op, kOnLeft, Other::kOne>>(), {}};
    if constexpr (requires { requires Op::kTakesScaled; })
      binary.scaled = link<Binary<Op, kOnLeft, Other::kScaled>>();
    return binary;
  }
  template <class Op, int kArity>
  static ChainForm form() {
    ChainForm form;
    form.store = code(&store_block, &store_rest);
    form.store_and_go_on = code(&store_and_go_on_block, &store_and_go_on_rest);
    if constexpr (kArity == 1) {
      form.unary = link<Unary<Op>>();
    } else {
      form.left = binary<Op, true>();
      form.right = binary<Op, false>();
      form.multiplies = requires { requires Op::kMultiplies; };
    }
    return form;
  }
};

/// The operation as a link of chains of a type: for f32 and f64 only, and where there are vectors.
template <class Op, int kArity>
ChainForm select_chain(DType type) {
  if constexpr (HWY_TARGET != HWY_SCALAR && requires { requires Op::kIsLink; }) {
    if (type == DType::f32) return Chains<float>::form<Op, kArity>();
    if (type == DType::f64) return Chains<double>::form<Op, kArity>();
  }
  return {};
}

}  // namespace HWY_NAMESPACE
}  // namespace nx::kernels
HWY_AFTER_NAMESPACE();

#endif
