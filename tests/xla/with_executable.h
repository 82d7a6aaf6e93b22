// What the tests of executables share: graphs compiled through the compiler's interface, calls from
// storages to storages.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "core/ledger.h"
#include "xla/with_graph.h"
#include "xla/with_plugin.h"
#include "xla/xla_compiler.h"
#include "xla/xla_storage.h"

namespace nx::xla::testing {

using graph::CallFrame;
using graph::DonationPair;
using graph::Edge;
using graph::Executable;
using graph::InputMode;
using graph::PairKind;

/// A storage that lives for a scope.
class Held {
 public:
  explicit Held(detail::Storage* storage) : storage_(storage) {}
  Held(Held&& other) noexcept : storage_(std::exchange(other.storage_, nullptr)) {}
  ~Held() {
    if (storage_ != nullptr) storage_->release();
  }
  XlaStorage& operator*() const { return static_cast<XlaStorage&>(*storage_); }
  XlaStorage* operator->() const { return &**this; }
  template <class T = float>
  std::vector<T> values() const {
    std::vector<T> list(storage_->bytes() / sizeof(T));
    storage_->copy_to_host(list.data());
    return list;
  }

 private:
  detail::Storage* storage_;
};

struct Outcome {
  std::vector<Held> results;
  std::uint32_t aliased = 0, freed = 0, copied = 0;
};

class WithExecutable : public WithPlugin {
 protected:
  void SetUp() override {
    WithPlugin::SetUp();
    if (!IsSkipped()) compiler_ = make_xla_compiler({});
  }
  const graph::Compiler& compiler() { return *compiler_; }
  std::unique_ptr<Executable> compile(const Build& build, std::vector<DonationPair> pairs = {},
                                      graph::CompileOptions options = {}) {
    return compiler().compile(build.graph, pairs, options);
  }
  template <class T>
  Held store(const std::vector<T>& values, DType type, Dims dims) {
    return Held(compiler().from_host(values.data(), {type, std::move(dims)}));
  }
  Held store(const std::vector<float>& values) {
    return store(values, DType::f32, {static_cast<std::int64_t>(values.size())});
  }
  static Outcome call(const Executable& executable, std::size_t results,
                      std::vector<const Held*> inputs, std::vector<InputMode> modes = {}) {
    modes.resize(inputs.size(), InputMode::kRead);
    std::vector<detail::Storage*> in, out(results, nullptr);
    for (const Held* input : inputs) in.push_back(&**input);
    CallFrame frame{in, modes, out};
    executable.run(frame);
    Outcome outcome;
    for (detail::Storage* storage : out) outcome.results.emplace_back(storage);
    outcome.aliased = frame.aliased;
    outcome.freed = frame.freed;
    outcome.copied = frame.copied;
    return outcome;
  }
  /// (a, b) -> (b + 1, a + 1)
  static Build swapped() {
    Build build("swapped");
    const Edge a = build.parameter(DType::f32, {4}), b = build.parameter(DType::f32, {4});
    build.output(build.plus_one(b));
    build.output(build.plus_one(a));
    return build;
  }
  static std::vector<DonationPair> swapped_pairs() {
    return {{0, 1, PairKind::kInPlace}, {1, 0, PairKind::kInPlace}};
  }

 private:
  std::unique_ptr<graph::Compiler> compiler_;
};

}  // namespace nx::xla::testing
