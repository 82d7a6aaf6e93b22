// The fixture of the donation rules: every test runs once for each compiler.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/body.h"
#include "nx/nx.h"
#include "runtime/compilers.h"

namespace nx::test {

/// What a test needs to see of a tensor from the inside.
inline const void* memory_of(const Tensor& t) {
  return detail::Access::body(t)->storage->identity();
}

struct Pair {
  Tensor a, b;
};
NX_CONTAINER(Pair, a, b)

struct Leaves3 {
  Tensor p, m, v;
};
NX_CONTAINER(Leaves3, p, m, v)

class Rule : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    try {
      runtime::compiler_named(GetParam());
    } catch (const Error& error) {
      GTEST_SKIP() << "no " << GetParam() << " compiler here: " << error.what();
    }
  }
  JitOptions options(std::string name = "f") const {
    JitOptions o;
    o.compiler = GetParam();
    o.name = std::move(name);
    return o;
  }
  JitOptions lenient(std::string name = "f") const {
    JitOptions o = options(std::move(name));
    o.donation = DonationPolicy::lenient;
    return o;
  }
  bool is_xla() const { return std::string(GetParam()) == "xla"; }

  /// A tensor on the device of the compiler under test, in a buffer of its own.
  Tensor on_device(const Tensor& t) const {
    return jit([](Tensor x) { return x + 0; }, options("on_device"))(t);
  }
  Tensor vector_of(std::int64_t count, float first = 0) const {
    return on_device(iota({count}, {.type = f32}) + first);
  }
};

/// The text of the error of type E that `f` throws; fails the test when it throws none.
template <class E, class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const E& error) {
    return error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "another error: " << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

#define EXPECT_HAS(text, part)                                              \
  EXPECT_NE(std::string(text).find(part), std::string::npos) << "text: " << text

/// Declares the suite of a rule and runs its tests on both compilers.
#define DONATION_RULE(name)                                                                    \
  class Donation_##name : public Rule {};                                                      \
  INSTANTIATE_TEST_SUITE_P(Donation, Donation_##name, testing::Values("host", "xla"),          \
                           [](const auto& info) { return std::string(info.param); })
#define RULE_TEST(name, promise) TEST_P(Donation_##name, name##_##promise)

}  // namespace nx::test
