// A small model and its batches, for the tests of the loop.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "nx/nx.h"

namespace nx::test {

/// 6-8-3 with relu.
inline nn::Model small_model() {
  auto m = nn::input("x", {-1, 6});
  m = nn::dense(m, 8, {.activation = "relu"});
  return nn::dense(m, 3);
}

inline std::vector<train::Batch> batches(int count, std::int64_t rows = 4) {
  std::vector<train::Batch> list;
  for (int i = 0; i < count; ++i) {
    auto x = random::uniform(random::key(i), {.shape = {rows, 6}}).first;
    std::vector<std::int32_t> y;
    for (std::int64_t k = 0; k < rows; ++k) y.push_back(static_cast<std::int32_t>((k + i) % 3));
    list.emplace_back(x, tensor(y));
  }
  return list;
}

inline train::Loop small_loop() {
  return train::trainer(small_model(), "categorical_cross_entropy", optim::adam());
}

template <class T>
std::vector<std::byte> bits_of(const T& container) {
  std::vector<std::byte> all;
  detail::for_each_leaf(container, [&](const Tensor& t) {
    const auto bytes = to_binary(t);
    all.insert(all.end(), bytes.begin(), bytes.end());
  });
  return all;
}

/// Attaches a handler that always proceeds.
template <class F>
void on(train::Loop& loop, train::Event event, F f) {
  loop.handle_event(event, [f](const train::Progress& p) mutable {
    f(p);
    return train::Action::proceed;
  });
}

inline const Tensor& first_kernel(const train::StepState& state) {
  return state.model_state.parameters.at("dense_0").at("kernel").tensor;
}

}  // namespace nx::test
