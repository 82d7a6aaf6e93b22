// Reports about PJRT plugins: other versions, entries that are not there, sizes that differ, boxes
// without the device. None may end the process.
#include <dlfcn.h>

#include <cstdlib>

#include "reports/report.h"
#include "xla/plugin.h"

namespace nx::test {

class PluginReports : public testing::Test {
 protected:
  void SetUp() override {
    std::string path;
    try {
      path = xla::find_plugin();
    } catch (const BackendError& missing) {
      GTEST_SKIP() << missing.what();
    }
    setenv("NXPP_PROXIED_PLUGIN", path.c_str(), 0);
  }
  static JitOptions options(const char* plugin) {
    JitOptions o;
    o.compiler = "xla";
    o.plugin = plugin;
    o.name = "f";
    return o;
  }
  /// A donated step, its values and what became of the leaves.
  static void expect_works(const char* plugin) {
    const auto f = jit(
        [](Pair s) {
          return std::pair(Pair{s.a + s.b, s.b * 2}, sum(s.a));
        },
        options(plugin));
    Pair s{iota({64}, {.type = f32}), ones({64})};
    Tensor total;
    for (int i = 0; i < 4; ++i) {
      const Pair before = s;
      std::tie(s, total) = f(donatable(s));
      EXPECT_TRUE(before.a.is_consumed());
      EXPECT_THROW((void)values_of(before.b), DonatedError);
    }
    EXPECT_EQ(values_of(s.a)[63], 63 + 1 + 2 + 4 + 8);
    EXPECT_EQ(values_of(s.b)[0], 16);
    EXPECT_EQ(total.to_number<float>(), 64 * 63 / 2 + 64 * 7);
    EXPECT_EQ(f.last_call().freed, 0u);
    EXPECT_NO_THROW((void)f.explain());
    EXPECT_NO_THROW((void)f.donation_report().to_string());
  }
  static void expect_host_works() {
    EXPECT_EQ(jit([](Tensor x) { return x + 1; })(tensor(1.f)).to_number<float>(), 2);
  }
};

TEST_F(PluginReports, a_plugin_of_another_minor_version_works) {
  expect_works(OLDER_PLUGIN);
  expect_works(NEWER_PLUGIN);
}

TEST_F(PluginReports, entries_that_a_plugin_leaves_empty_are_done_without) {
  expect_works(EMPTY_PLUGIN);
  EXPECT_EQ(xla::Plugin::load(EMPTY_PLUGIN).attribute("stablehlo_current_version"), "");
}

TEST_F(PluginReports, a_plugin_that_cannot_call_our_kernels_computes_products_itself) {
  const auto product = [](Tensor a, Tensor b) { return dot(a, b); };
  const auto without = jit(product, options(EMPTY_PLUGIN)), with = jit(product, options(""));
  const Tensor a = iota({64, 64}, {.type = f32}) / 4096, b = ones({64, 64}, {.type = f32});
  EXPECT_TRUE(all_close(without(a, b), with(a, b)).to_number<bool>());
  EXPECT_EQ(without.explain().find("nxpp_kernel"), std::string::npos);
  EXPECT_HAS(with.explain(), "nxpp_kernel");
}

TEST_F(PluginReports, entries_that_a_plugin_does_not_implement_are_done_without) {
  expect_works(UNIMPLEMENTED_PLUGIN);
  EXPECT_EQ(xla::Plugin::load(UNIMPLEMENTED_PLUGIN).attribute("stablehlo_current_version"), "");
}

TEST_F(PluginReports, a_plugin_that_refuses_the_size_of_an_argument_is_an_error_of_the_call) {
  const auto f = jit([](Tensor x) { return x + 1; }, options(OTHER_SIZES_PLUGIN));
  const Tensor x = iota({4}, {.type = f32});
  for (int i = 0; i < 3; ++i) {
    const std::string text = error_of<BackendError>([&] { (void)wait(f(x)); });
    EXPECT_HAS(text, "INVALID_ARGUMENT");
    EXPECT_HAS(text, "expected 320, got 80");
  }
  EXPECT_EQ(values_of(x)[3], 3);
  expect_host_works();
}

TEST_F(PluginReports, a_plugin_without_its_device_is_an_error_and_other_compilers_go_on) {
  for (int i = 0; i < 3; ++i) {
    const std::string text = error_of<BackendError>(
        [&] { (void)jit([](Tensor x) { return x + 1; }, options(NO_DEVICE_PLUGIN))(tensor(1.f)); });
    EXPECT_HAS(text, "no supported devices found");
    expect_host_works();
  }
  EXPECT_EQ(jit([](Tensor x) { return x + 1; }, options(""))(tensor(1.f)).to_number<float>(), 2);
}

TEST_F(PluginReports, arguments_of_questions_to_a_plugin_come_zeroed) {
  expect_works(ZEROED_PLUGIN);
  void* const library = dlopen(ZEROED_PLUGIN, RTLD_NOW | RTLD_NOLOAD);
  ASSERT_NE(library, nullptr);
  const auto violations = reinterpret_cast<int (*)()>(dlsym(library, "nxpp_proxy_violations"));
  EXPECT_EQ(violations(), 0);
  dlclose(library);
}

}  // namespace nx::test
