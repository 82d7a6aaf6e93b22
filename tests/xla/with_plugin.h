// What the tests of this folder share: a client, or the reason to skip; programs with values.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "nx/error.h"
#include "xla/execute.h"

namespace nx::xla::testing {

/// What `action` reports as a BackendError; fails when it does not.
template <class Action>
std::string backend_error(Action&& action) {
  try {
    action();
  } catch (const BackendError& error) {
    return error.what();
  }
  ADD_FAILURE() << "no BackendError";
  return {};
}

/// Skips when no plugin is installed. A plugin that is there and does not work is a failure.
class WithPlugin : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string path;
    try {
      path = find_plugin();
    } catch (const BackendError& missing) {
      GTEST_SKIP() << missing.what();
    }
    client_ = &Client::get({.plugin = path});
  }
  Client& client() { return *client_; }

  /// A module whose main has these parameters (with attributes), results and body.
  static std::string module(std::string_view parameters, std::string_view results,
                            std::string_view body) {
    std::string text = "module @m { func.func public @main(";
    text.append(parameters).append(") -> (").append(results).append(") {\n");
    return text.append(body).append("\n} }");
  }
  Program compile(std::string_view parameters, std::string_view results, std::string_view body) {
    return Program::compile(client(), module(parameters, results, body));
  }
  Buffer upload(const std::vector<float>& values) {
    const std::int64_t dims[1] = {static_cast<std::int64_t>(values.size())};
    return Buffer::from_host(client(), 0, values.data(), DType::f32, dims);
  }
  static std::vector<float> download(const Buffer& buffer) {
    std::vector<float> values(static_cast<std::size_t>(element_count(buffer.dims())));
    buffer.read(values.data(), values.size() * sizeof(float));
    return values;
  }
  static std::vector<Buffer> call(const Program& program, std::vector<const Buffer*> inputs,
                                  const RunOptions& options = {}) {
    std::vector<PJRT_Buffer*> handles;
    for (const Buffer* input : inputs) handles.push_back(input->handle());
    std::vector<Buffer> outputs(program.output_count());
    run(program, handles, outputs, options);
    return outputs;
  }

 private:
  Client* client_ = nullptr;
};

}  // namespace nx::xla::testing
