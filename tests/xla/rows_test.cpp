// Every row's lowering, compiled by the plugin and compared with what the host computes.
#include <gtest/gtest.h>

#include <cctype>
#include <cmath>
#include <complex>
#include <cstring>
#include <optional>

#include "host/eager.h"
#include "nx/element.h"
#include "ops/function_row.h"
#include "xla/row_cases.h"
#include "xla/with_graph.h"
#include "xla/with_plugin.h"
#include "xla/xla_compiler.h"

namespace nx::xla {
namespace {

using testing::Build;
using testing::RowCase;
using Bytes = std::vector<unsigned char>;

/// Relative error that is forgiven: a few units in the last place.
double tolerance(DType type) {
  switch (type) {
    case DType::f64:
    case DType::c128: return 2e-14;
    case DType::f32:
    case DType::c64: return 2e-6;
    case DType::f16: return 2e-3;
    case DType::bf16: return 1.6e-2;
    default: return 0.26;  // f8
  }
}

bool is_close(double expected, double got, double relative) {
  if (std::isnan(expected) || std::isnan(got)) return std::isnan(expected) && std::isnan(got);
  if (expected == got) return true;
  if (std::isinf(expected) || std::isinf(got)) return false;
  return std::abs(expected - got) <= relative * std::max(std::abs(expected), 1e-30);
}

/// Empty, or the first element that differs.
std::string difference(DType type, const Bytes& expected, const Bytes& got) {
  return visit_element(type, [&](auto element) -> std::string {
    using T = decltype(element);
    for (std::size_t i = 0; i * sizeof(T) < expected.size(); ++i) {
      T a, b;
      std::memcpy(&a, &expected[i * sizeof(T)], sizeof(T));
      std::memcpy(&b, &got[i * sizeof(T)], sizeof(T));
      std::string text;
      if constexpr (std::is_integral_v<T>) {
        if (a == b) continue;
        text = "expected " + std::to_string(+a) + ", got " + std::to_string(+b);
      } else if constexpr (sizeof(T) == 16 || std::is_same_v<T, std::complex<float>>) {
        const std::complex<double> x(a), y(b);
        if (is_close(x.real(), y.real(), tolerance(type)) &&
            is_close(x.imag(), y.imag(), tolerance(type)))
          continue;
        text = "complex numbers differ";
      } else {
        const auto x = static_cast<double>(
            static_cast<std::conditional_t<std::is_same_v<T, double>, double, float>>(a));
        const auto y = static_cast<double>(
            static_cast<std::conditional_t<std::is_same_v<T, double>, double, float>>(b));
        if (is_close(x, y, tolerance(type))) continue;
        text = "expected " + std::to_string(x) + ", got " + std::to_string(y);
      }
      return "element " + std::to_string(i) + ": " + text;
    }
    return {};
  });
}

// One test for each family: all at once would take too long under a sanitizer.
class XlaRows : public testing::WithPlugin, public ::testing::WithParamInterface<std::size_t> {
 protected:
  void SetUp() override {
    WithPlugin::SetUp();
    if (!IsSkipped()) compiler_ = make_xla_compiler({});
  }

  /// A case with its operands' elements and what the host makes of them.
  struct Tried {
    RowCase row_case;
    graph::TensorTypes in_types, out_types;
    std::vector<Bytes> in, expected;
  };

  /// Nothing when the host has no kernel for the types.
  static std::optional<Tried> on_host(RowCase row_case) {
    Tried tried{std::move(row_case), {}, {}, {}, {}};
    const RowCase& c = tried.row_case;
    for (std::size_t i = 0; i < c.in.size(); ++i) {
      tried.in_types.push_back(c.in[i].type);
      tried.in.push_back(testing::draw_elements(c.in[i], i));
    }
    tried.out_types = (*c.row->infer)(tried.in_types, c.attrs);
    std::vector<host::EagerInput> in;
    std::vector<host::EagerOutput> out;
    for (const graph::TensorType& type : tried.out_types) tried.expected.emplace_back(type.bytes());
    for (std::size_t i = 0; i < tried.in.size(); ++i)
      in.push_back({tried.in[i].data(), tried.in_types[i].type, tried.in_types[i].dims});
    for (std::size_t k = 0; k < tried.expected.size(); ++k)
      out.push_back({tried.expected[k].data(), tried.out_types[k].type, tried.out_types[k].dims});
    try {
      host::run_eager(*c.row, in, c.attrs, out, nullptr);
    } catch (const UnsupportedError&) {
      return std::nullopt;
    }
    return tried;
  }

  /// One program for all of them, since compiling takes most of the time. Says what differs, or
  /// throws when the plugin refuses one.
  void expect_same(std::span<const Tried> all) {
    Build build("rows");
    std::vector<detail::Storage*> in;
    std::size_t results = 0;
    for (const Tried& tried : all) {
      graph::Node node;
      node.row = tried.row_case.row;
      node.attrs = tried.row_case.attrs;
      for (const graph::TensorType& type : tried.in_types)
        node.inputs.push_back(build.parameter(type.type, type.dims));
      node.outputs = tried.out_types;
      results += tried.out_types.size();
      const graph::NodeIndex index = build.graph.append(std::move(node));
      for (std::uint32_t k = 0; k < tried.out_types.size(); ++k) build.output({index, k});
    }
    const auto executable = compiler_->compile(build.graph, {}, {});
    for (const Tried& tried : all)
      for (std::size_t i = 0; i < tried.in.size(); ++i)
        in.push_back(compiler_->from_host(tried.in[i].data(), tried.in_types[i]));
    const std::vector<graph::InputMode> modes(in.size(), graph::InputMode::kRead);
    std::vector<detail::Storage*> out(results, nullptr);
    graph::CallFrame frame{in, modes, out};
    executable->run(frame);
    std::size_t next = 0;
    for (const Tried& tried : all)
      for (std::size_t k = 0; k < tried.expected.size(); ++k) {
        Bytes got(tried.expected[k].size());
        out[next]->copy_to_host(got.data());
        out[next++]->release();
        EXPECT_EQ(difference(tried.out_types[k].type, tried.expected[k], got), "")
            << tried.row_case.to_string();
      }
    for (detail::Storage* const storage : in) storage->release();
  }

  /// Each by itself, to find out which one is refused.
  void expect_each(std::span<const Tried> all) {
    for (const Tried& tried : all) {
      try {
        expect_same({&tried, 1});
      } catch (const Error& error) {
        ADD_FAILURE() << tried.row_case.to_string() << ": " << error.what();
      }
    }
  }

 private:
  std::unique_ptr<graph::Compiler> compiler_;
};

TEST(XlaRowCases, every_row_has_some) {
  for (const ops::Family* const family : ops::families())
    for (const graph::OpRow* const row : family->ops) {
      std::size_t count = 0;
      for (int t = 0; t < kDTypeCount; ++t)
        count += testing::cases_of(*row, static_cast<DType>(t)).size();
      EXPECT_GT(count, 0u) << row->name << ": no example of a function uses it";
    }
}

TEST_P(XlaRows, every_row_computes_what_the_host_computes) {
  for (const graph::OpRow* const row : ops::families()[GetParam()]->ops) {
    std::vector<Tried> all;
    for (int t = 0; t < kDTypeCount; ++t)
      for (RowCase& c : testing::cases_of(*row, static_cast<DType>(t)))
        if (auto tried = on_host(std::move(c))) all.push_back(std::move(*tried));
    EXPECT_FALSE(all.empty()) << row->name << ": the host computes no case of it";
    try {
      expect_same(all);
    } catch (const BackendError&) {
      expect_each(all);
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Family, XlaRows, ::testing::Range(std::size_t{0}, ops::families().size()),
                         [](const auto& info) {
                           std::string name(ops::families()[info.param]->name);
                           for (char& c : name)
                             if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
                           return name;
                         });

}  // namespace
}  // namespace nx::xla
