// Finding a plugin, and refusing what is none: each refusal names the path, expected and got.
#include "xla/plugin.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "nx/error.h"
#include "xla/client.h"
#include "xla/with_plugin.h"

namespace nx::xla {
namespace {

using testing::backend_error;
using ::testing::AllOf;
using ::testing::HasSubstr;

/// Sets a variable for the length of a scope.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) {
      old_ = old;
      had_ = true;
    }
    value == nullptr ? unsetenv(name) : setenv(name, value, 1);
  }
  ~ScopedVariable() { had_ ? setenv(name_, old_.c_str(), 1) : unsetenv(name_); }

 private:
  const char* name_;
  std::string old_;
  bool had_ = false;
};

TEST(XlaPlugin, a_missing_file_is_refused_with_the_way_to_get_one) {
  EXPECT_THAT(backend_error([] { find_plugin("/nowhere/plugin.so"); }),
              AllOf(HasSubstr("/nowhere/plugin.so"), HasSubstr("./scripts/setup"),
                    HasSubstr("NX_PJRT_PLUGIN")));
  EXPECT_THAT(backend_error([] { Plugin::load("/nowhere/plugin.so"); }),
              HasSubstr("./scripts/setup"));
}

TEST(XlaPlugin, the_variable_comes_before_the_cache_and_the_option_before_the_variable) {
  const ScopedVariable variable("NX_PJRT_PLUGIN", NO_TABLE_PLUGIN);
  EXPECT_EQ(find_plugin(), NO_TABLE_PLUGIN);
  EXPECT_EQ(find_plugin(TOO_OLD_PLUGIN), TOO_OLD_PLUGIN);
}

TEST(XlaPlugin, a_variable_that_names_no_file_is_refused_by_its_name) {
  const ScopedVariable variable("NX_PJRT_PLUGIN", "/nowhere/other.so");
  EXPECT_THAT(backend_error([] { find_plugin(); }),
              AllOf(HasSubstr("in NX_PJRT_PLUGIN"), HasSubstr("/nowhere/other.so")));
}

TEST(XlaPlugin, an_empty_cache_is_refused_with_the_way_to_fill_it) {
  const ScopedVariable variable("NX_PJRT_PLUGIN", nullptr);
  const ScopedVariable cache("NXPP_CACHE", "/nowhere/cache");
  EXPECT_THAT(backend_error([] { find_plugin(); }),
              AllOf(HasSubstr("/nowhere/cache/nxpp/pjrt"), HasSubstr("./scripts/setup")));
}

TEST(XlaPlugin, a_file_that_is_no_library_is_refused) {
  const auto path = std::filesystem::temp_directory_path() / "nxpp_garbage_plugin.so";
  std::ofstream(path) << "this is no shared library";
  EXPECT_THAT(backend_error([&] { Plugin::load(path.string()); }),
              AllOf(HasSubstr("nxpp_garbage_plugin.so"), HasSubstr("cannot be loaded")));
  std::filesystem::remove(path);
}

TEST(XlaPlugin, a_library_without_the_function_is_refused) {
  EXPECT_THAT(backend_error([] { Plugin::load(NO_FUNCTION_PLUGIN); }),
              AllOf(HasSubstr(NO_FUNCTION_PLUGIN), HasSubstr("expected a function GetPjrtApi")));
}

TEST(XlaPlugin, a_library_without_a_table_is_refused) {
  EXPECT_THAT(backend_error([] { Plugin::load(NO_TABLE_PLUGIN); }), HasSubstr("got null"));
}

TEST(XlaPlugin, another_major_version_is_refused_with_both_numbers) {
  EXPECT_THAT(backend_error([] { Plugin::load(OTHER_MAJOR_PLUGIN); }),
              AllOf(HasSubstr("expected 0.x"), HasSubstr("got 9.4")));
}

TEST(XlaPlugin, a_table_that_is_too_short_is_refused_with_both_sizes) {
  EXPECT_THAT(backend_error([] { Plugin::load(TOO_OLD_PLUGIN); }),
              AllOf(HasSubstr("too old"), HasSubstr("expected a table of at least")));
}

TEST(XlaPlugin, a_plugin_that_refuses_to_start_is_reported_with_its_own_words) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    EXPECT_THAT(backend_error([] { Plugin::load(REFUSES_PLUGIN); }),
                AllOf(HasSubstr("PERMISSION_DENIED"), HasSubstr("no licence for this device")));
  }
}

TEST(XlaPlugin, a_client_of_no_plugin_is_refused_and_a_good_one_still_works) {
  EXPECT_THROW(Client::get({.plugin = OTHER_MAJOR_PLUGIN}), BackendError);
  EXPECT_THROW(Client::get({.plugin = "/nowhere/plugin.so"}), BackendError);
  EXPECT_THROW(Client::get({.device_count = 0}), ArgumentError);
  std::string path;
  try {
    path = find_plugin();
  } catch (const BackendError& missing) {
    GTEST_SKIP() << missing.what();
  }
  EXPECT_GE(Client::get({.plugin = path}).device_count(), 1);
}

using XlaInstalledPlugin = testing::WithPlugin;

TEST_F(XlaInstalledPlugin, is_loaded_once_for_each_file) {
  const std::string path = find_plugin();
  const auto link = std::filesystem::temp_directory_path() / "nxpp_plugin_link.so";
  std::filesystem::remove(link);
  std::filesystem::create_symlink(path, link);
  EXPECT_EQ(&Plugin::load(path), &Plugin::load(link.string()));
  EXPECT_EQ(&Client::get(), &Client::get({.plugin = link.string()}));
  std::filesystem::remove(link);
}

TEST_F(XlaInstalledPlugin, tells_its_version_and_its_attributes) {
  EXPECT_GT(client().plugin().minor_version(), 0);
  EXPECT_FALSE(client().plugin().attribute("stablehlo_current_version").empty());
  EXPECT_TRUE(client().plugin().attribute("no such attribute").empty());
}

}  // namespace
}  // namespace nx::xla
