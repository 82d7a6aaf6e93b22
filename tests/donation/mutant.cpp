// Wrappers around a real compiler and its executables.
#include "donation/mutant.h"

#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "runtime/compilers.h"

namespace nx::test {
namespace {

using graph::CallFrame;
using graph::DonationPair;
using graph::InputMode;

class MutantExecutable final : public graph::Executable {
 public:
  MutantExecutable(std::unique_ptr<graph::Executable> real, std::vector<DonationPair> pairs,
                   Fault fault)
      : real_(std::move(real)), pairs_(std::move(pairs)), fault_(fault) {}

  void reserve() const override { real_->reserve(); }
  void run(CallFrame& frame) const override {
    if (fault_ == Fault::kDropsAlias || pairs_.empty()) return real_->run(frame);
    std::vector<InputMode> modes(frame.modes.begin(), frame.modes.end());
    modes[pairs_.back().parameter] = InputMode::kProtected;
    CallFrame copying = frame;
    copying.modes = modes;
    real_->run(copying);
    frame.aliased = copying.aliased;
    frame.freed = copying.freed;
    frame.copied = copying.copied;
    if (fault_ != Fault::kCopiesSilently) return;
    frame.aliased += frame.copied;
    frame.copied = 0;
  }
  graph::MemoryUse memory() const override { return real_->memory(); }
  std::vector<DonationPair> pairs() const override { return pairs_; }
  std::size_t own_bytes() const override { return real_->own_bytes(); }
  std::string to_string() const override { return real_->to_string(); }

 private:
  std::unique_ptr<graph::Executable> real_;
  std::vector<DonationPair> pairs_;
  Fault fault_;
};

class MutantCompiler final : public graph::Compiler {
 public:
  MutantCompiler(const graph::Compiler& real, Fault fault) : real_(real), fault_(fault) {}

  std::string_view name() const override { return real_.name(); }
  graph::Capabilities capabilities() const override { return real_.capabilities(); }
  detail::DeviceId device() const override { return real_.device(); }
  std::unique_ptr<graph::Executable> compile(const graph::Graph& graph,
                                             std::span<const DonationPair> pairs,
                                             const graph::CompileOptions& options) const override {
    const bool drops = fault_ == Fault::kDropsAlias && !pairs.empty();
    return std::make_unique<MutantExecutable>(
        real_.compile(graph, drops ? pairs.first(pairs.size() - 1) : pairs, options),
        std::vector<DonationPair>(pairs.begin(), pairs.end()), fault_);
  }
  detail::Storage* from_host(const void* data, const graph::TensorType& type) const override {
    return real_.from_host(data, type);
  }
  void check_usable() const override { real_.check_usable(); }

 private:
  const graph::Compiler& real_;
  Fault fault_;
};

}  // namespace

std::string add_mutant(const std::string& compiler, Fault fault) {
  static std::mutex mutex;
  static std::set<std::string> added;
  const std::string name = compiler + " with fault " + std::to_string(static_cast<int>(fault));
  const std::lock_guard lock(mutex);
  if (added.insert(name).second)
    runtime::add_compiler(
        name, std::make_unique<MutantCompiler>(runtime::compiler_named(compiler), fault));
  return name;
}

}  // namespace nx::test
