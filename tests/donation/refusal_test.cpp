// R13 to R17: what may not be donated is an error before launch, and nothing is consumed.
#include <chrono>
#include <cstdlib>
#include <future>
#include <thread>

#include "donation/callback.h"
#include "donation/rule.h"

namespace nx::test {

DONATION_RULE(R13);
DONATION_RULE(R14);
DONATION_RULE(R15);
DONATION_RULE(R16);
DONATION_RULE(R17);

Pair step_of(const Pair& s) { return {s.a + s.b, s.b * 2}; }

RULE_TEST(R13, one_buffer_in_two_donated_leaves_is_an_error_with_both_paths) {
  const auto f = jit([](Pair s) { return step_of(s); }, options());
  const Tensor zero = vector_of(4);
  const std::string text = error_of<ArgumentError>([&] { f(donatable(Pair{zero, zero})); });
  EXPECT_HAS(text, "arg0.a");
  EXPECT_HAS(text, "arg0.b");
  EXPECT_FALSE(zero.is_consumed());
}

RULE_TEST(R13, one_buffer_donated_and_read_is_an_error_and_read_twice_is_none) {
  const auto f = jit([](Tensor x, Tensor y) { return x + y; }, options());
  const Tensor x = vector_of(4);
  const std::string text = error_of<ArgumentError>([&] { f(donatable(x), x); });
  EXPECT_HAS(text, "arg0");
  EXPECT_HAS(text, "arg1");
  EXPECT_EQ(f(x, x).to_flat_list<float>()[3], 6);
}

RULE_TEST(R14, borrowed_memory_may_not_be_donated_and_owned_memory_may) {
  const auto f = jit([](Tensor x) { return x + 1; }, options());
  alignas(64) static float borrowed[4] = {1, 2, 3, 4};
  const Tensor lent = from_pointer(borrowed, f32, {4});
  const std::string text = error_of<ArgumentError>([&] { f(donatable(lent)); });
  EXPECT_HAS(text, "borrowed");
  EXPECT_EQ(borrowed[0], 1);

  auto* const owned = static_cast<float*>(std::aligned_alloc(64, 64));
  for (int i = 0; i < 4; ++i) owned[i] = static_cast<float>(i);
  bool deleted = false;
  {
    Tensor successor;
    {
      const Tensor mine = from_pointer(owned, f32, {4}, {.deleter = [&](void*) {
        deleted = true;
        std::free(owned);
      }});
      successor = f(donatable(mine));
      EXPECT_TRUE(mine.is_consumed());
    }
    EXPECT_EQ(successor.to_flat_list<float>()[3], 4);
    if (!is_xla()) { EXPECT_FALSE(deleted) << "the deleter runs when the successor dies"; }
  }
  EXPECT_TRUE(deleted);
}

RULE_TEST(R14, a_held_host_span_is_a_lease_that_the_error_names) {
  const auto f = jit([](Tensor x) { return x + 1; }, options());
  const Tensor x = vector_of(4);
  {
    const auto span = x.host<float>();
    const std::string text = error_of<ArgumentError>([&] { f(donatable(x)); });
    EXPECT_HAS(text, "host span");
    EXPECT_EQ(span[3], 3);
  }
  EXPECT_EQ(f(donatable(x)).to_flat_list<float>()[3], 4);
}

RULE_TEST(R14, an_export_is_a_lease_that_the_error_names) {
  const auto f = jit([](Tensor x) { return x + 1; }, options());
  const Tensor x = vector_of(4);
  {
    const detail::ScopedLease exported(*detail::Access::body(x)->storage, detail::Lease::kExport,
                                       "test");
    EXPECT_HAS(error_of<ArgumentError>([&] { f(donatable(x)); }), "exported");
    EXPECT_EQ(x.to_flat_list<float>()[3], 3);
  }
  EXPECT_EQ(f(donatable(x)).to_flat_list<float>()[3], 4);
}

RULE_TEST(R14, a_call_in_flight_on_another_thread_is_a_lease_that_the_error_names) {
  if (is_xla() && !register_callback()) GTEST_SKIP() << "the plugin takes no custom calls";
  const auto f = jit([](Tensor x) { return x + 1; }, options());
  const auto reads = jit([](Tensor x) { return callback(x) * 2; }, options("reads"));
  f(donatable(vector_of(4)));
  const Tensor x = vector_of(4);
  std::string text;
  {
    const CallbackHook hook([&](std::span<const float>) {
      std::thread([&] { text = error_of<ArgumentError>([&] { f(donatable(x)); }); }).join();
    });
    EXPECT_EQ(reads(x).to_flat_list<float>()[3], 6);
  }
  EXPECT_HAS(text, "arg0");
  EXPECT_HAS(text, "a call in flight on another thread reads it");
  EXPECT_EQ(f(donatable(x)).to_flat_list<float>()[3], 4);
}

RULE_TEST(R15, donating_a_tensor_never_changes_one_that_shares_its_memory) {
  const Tensor x = iota({4}, {.type = f32});
  const Tensor view = reshape(x, {2, 2});
  const auto strict = jit([](Tensor t) { return t + 1; }, options());
  const std::string text = error_of<ArgumentError>([&] { strict(donatable(x)); });
  EXPECT_HAS(text, "shares its memory");
  const auto relaxed = jit([](Tensor t) { return t + 1; }, lenient());
  const Tensor y = relaxed(donatable(x));
  EXPECT_EQ(view.to_flat_list<float>(), (std::vector<float>{0, 1, 2, 3}));
  EXPECT_EQ(y.to_flat_list<float>(), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(relaxed.last_call().copied, 1u);
  EXPECT_EQ(relaxed.last_call().aliased, 0u);
  EXPECT_FALSE(x.is_consumed()) << "the leaf is protected in that call";
  EXPECT_EQ(x.to_flat_list<float>()[3], 3);
}

RULE_TEST(R15, a_leaf_and_a_view_of_it_in_one_call_are_named_both) {
  const Tensor x = iota({4}, {.type = f32});
  const Tensor view = reshape(x, {2, 2});
  for (const JitOptions& o : {options(), lenient()}) {
    const auto f = jit([](Tensor a, Tensor b) { return std::pair(a + 1, b * 2); }, o);
    const std::string text = error_of<ArgumentError>([&] { f(donatable(x), view); });
    EXPECT_HAS(text, "`arg0`");
    EXPECT_HAS(text, "`arg1`");
    EXPECT_FALSE(x.is_consumed());
  }
}

RULE_TEST(R15, when_the_other_tensor_is_gone_the_leaf_is_donated) {
  Tensor x = iota({64}, {.type = f32});
  Tensor view = reshape(x, {8, 8});
  const auto f = jit([](Tensor t) { return t + 1; }, options());
  x = Tensor();
  const Tensor y = f(donatable(view));
  EXPECT_TRUE(view.is_consumed());
  EXPECT_EQ(y.to_flat_list<float>()[63], 64);
}

RULE_TEST(R16, donating_a_captured_tensor_in_the_same_call_is_an_error) {
  const Tensor captured = vector_of(4);
  const auto f = jit([&](Tensor x) { return x + captured; }, options());
  const std::string text = error_of<ArgumentError>([&] { f(donatable(captured)); });
  EXPECT_HAS(text, "captured #0");
  EXPECT_EQ(f(vector_of(4)).to_flat_list<float>()[3], 6);
}

RULE_TEST(R16, a_captured_tensor_donated_elsewhere_fails_the_next_call) {
  const Tensor captured = vector_of(4);
  const auto f = jit([&](Tensor x) { return x + captured; }, options());
  f(vector_of(4));
  jit([](Tensor x) { return x * 2; }, options("elsewhere"))(donatable(captured));
  const std::string text = error_of<DonatedError>([&] { f(vector_of(4)); });
  EXPECT_HAS(text, "elsewhere");
}

RULE_TEST(R16, the_error_counts_captured_tensors_and_nothing_is_consumed) {
  const Tensor first = vector_of(4), second = vector_of(4, 1);
  const auto f = jit([&](Tensor x) { return x * first + second; }, lenient());
  const std::string text = error_of<ArgumentError>([&] { f(donatable(second)); });
  EXPECT_HAS(text, "`arg0`");
  EXPECT_HAS(text, "`captured #1`");
  EXPECT_EQ(second.to_flat_list<float>()[3], 4);
  EXPECT_EQ(f(vector_of(4)).to_flat_list<float>()[3], 13);
}

RULE_TEST(R16, a_captured_number_is_a_copy) {
  float rate = 2;
  const auto f = jit([&](Tensor x) { return x * rate; }, options());
  f(vector_of(4));
  rate = 3;
  EXPECT_EQ(f(vector_of(4)).to_flat_list<float>()[1], 2);
}

/// FNV-1a over the bytes of a tensor.
std::uint64_t hash_of(const Tensor& t) {
  const detail::HostRead read(t, "hash");
  const auto* const bytes = static_cast<const unsigned char*>(read.data());
  std::uint64_t hash = 14695981039346656037u;
  for (std::size_t i = 0; i < detail::Access::body(t)->storage->bytes(); ++i)
    hash = (hash ^ bytes[i]) * 1099511628211u;
  return hash;
}

bool is_readable(const Tensor& t) {
  try {
    hash_of(t);
    return true;
  } catch (const Error&) {
    return false;
  }
}

std::vector<Tensor> rotate(const std::vector<Tensor>& in) {
  return {in[0] + in[1], in[1] + in[2], in[2] + in[0]};
}

/// Puts `bad` in the first and then in the last place of a call of `f` with good leaves elsewhere:
/// an error, all arguments unchanged, and then a good call that returns within five seconds.
template <class F, class Good>
void expect_refused(const F& f, const Good& good, const Tensor& bad, const char* what) {
  const bool readable = is_readable(bad);
  const std::uint64_t bad_hash = readable ? hash_of(bad) : 0;
  for (const std::size_t place : {0, 2}) {
    const std::vector<Tensor> leaves{good(0), good(1), good(2)};
    std::vector<std::uint64_t> hashes;
    for (const Tensor& t : leaves) hashes.push_back(hash_of(t));
    std::vector<Tensor> arguments = donatable(leaves);
    arguments[place] = bad;
    EXPECT_THROW(f(arguments), Error) << what << " at " << place;
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      ASSERT_FALSE(leaves[i].is_consumed()) << what << " at " << place;
      EXPECT_EQ(hash_of(leaves[i]), hashes[i]) << what << " at " << place;
    }
    if (readable) { EXPECT_EQ(hash_of(bad), bad_hash) << what << " at " << place; }
    auto call = std::async(std::launch::async, [&] { return f(donatable(leaves)); });
    ASSERT_EQ(call.wait_for(std::chrono::seconds(5)), std::future_status::ready) << what;
    EXPECT_EQ(call.get()[0].template to_flat_list<float>()[5], 11) << what;
    EXPECT_TRUE(leaves[2].is_consumed());
  }
}

RULE_TEST(R17, every_bad_argument_is_refused_with_all_arguments_alive_and_a_good_call_follows) {
  const Tensor shape = donatable(make_template({64}, f32));
  const auto f = compile(rotate, options("rotate"), std::vector<Tensor>{shape, shape, shape});
  const auto good = [&](int i) { return vector_of(64, static_cast<float>(i)); };
  const Tensor gone = vector_of(64), freed = vector_of(64), held = vector_of(64);
  jit([](Tensor x) { return x + 1; }, options())(donatable(gone));
  deallocate(freed);
  alignas(64) static float lent[64] = {};
  const auto span = held.host<float>();
  const detail::ScopedLease exported(*detail::Access::body(held)->storage, detail::Lease::kExport,
                                     "test");
  const Tensor base = iota({64}, {.type = f32});
  const Tensor view = reshape(base, {8, 8});
  const std::vector<std::pair<const char*, Tensor>> bad = {
      {"another type of the same size", donatable(on_device(iota({64}, {.type = s32})))},
      {"another shape of the same size",
       donatable(on_device(reshape(iota({64}, {.type = f32}), {8, 8})))},
      {"another size", donatable(vector_of(63))},
      {"no mark", vector_of(64)},
      {"consumed", donatable(gone)},
      {"deallocated", donatable(freed)},
      {"borrowed", donatable(from_pointer(lent, f32, {64}))},
      {"leased", donatable(held)},
      {"shared by a view", donatable(base)},
      {"empty", donatable(Tensor())},
      {"a template", donatable(make_template({64}, f32))},
  };
  for (const auto& [what, tensor] : bad) expect_refused(f, good, tensor, what);
}

RULE_TEST(R17, a_wrong_number_of_leaves_is_refused_with_all_arguments_alive) {
  const Tensor shape = donatable(make_template({64}, f32));
  const auto f = compile(rotate, options("rotate"), std::vector<Tensor>{shape, shape, shape});
  for (const std::size_t count : {2, 4}) {
    std::vector<Tensor> leaves;
    for (std::size_t i = 0; i < count; ++i) leaves.push_back(vector_of(64));
    EXPECT_THROW(f(donatable(leaves)), ArgumentError);
    for (const Tensor& t : leaves) EXPECT_EQ(t.to_flat_list<float>()[63], 63);
  }
}

RULE_TEST(R17, a_buffer_that_is_given_twice_or_captured_is_refused_with_all_arguments_alive) {
  const Tensor captured = vector_of(64);
  const auto f = jit(
      [&](std::vector<Tensor> in) {
        std::vector<Tensor> out = rotate(in);
        out[0] = out[0] + captured;
        return out;
      },
      options());
  const std::vector<Tensor> leaves{vector_of(64), vector_of(64, 1), vector_of(64, 2)};
  const auto with = [&](std::size_t place, const Tensor& t) {
    std::vector<Tensor> in = leaves;
    in[place] = t;
    return donatable(in);
  };
  for (const auto& in : {with(0, leaves[2]), with(2, leaves[0]), with(0, captured),
                         with(2, captured)}) {
    EXPECT_THROW(f(in), ArgumentError);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(leaves[i].to_flat_list<float>()[63], 63 + i);
    EXPECT_FALSE(captured.is_consumed());
  }
  EXPECT_EQ(f(donatable(leaves))[0].to_flat_list<float>()[5], 16);
}

RULE_TEST(R17, a_workspace_that_cannot_be_had_consumes_nothing) {
  if (is_xla()) GTEST_SKIP() << "the plugin asks for its memory inside the run: R18";
  constexpr std::int64_t kSide = std::int64_t{1} << 25;  // a product of 4 PiB
  const auto f = jit(
      [](Tensor s, Tensor x) {
        const Tensor product = dot(broadcast(x, {kSide, 1}), broadcast(x, {1, kSide}));
        return std::pair(s + 1, sum(product * product));
      },
      options());
  const Tensor s = vector_of(64);
  error_of<BackendError>([&] { f(donatable(s), tensor(1.f)); });
  EXPECT_FALSE(s.is_consumed());
  EXPECT_EQ(s.to_flat_list<float>()[63], 63);
}

RULE_TEST(R17, a_leaf_on_another_device_is_brought_to_the_functions_and_consumed) {
  const auto f = jit([](Tensor x) { return x + 1; }, options());
  const Tensor x = iota({64}, {.type = f32});  // on the host
  EXPECT_EQ(f(donatable(x)).to_flat_list<float>()[63], 64);
  EXPECT_TRUE(x.is_consumed());
  EXPECT_EQ(f.last_call().aliased, 1u);
}

}  // namespace nx::test
