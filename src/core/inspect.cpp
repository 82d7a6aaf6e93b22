// Printing of tensors. Numbers are written with the fewest digits that read back as the same value
// of the tensor's type.
#include "nx/inspect.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <ostream>

#include "core/body.h"

namespace nx {
namespace {

using detail::Access;

/// Decimal digits of a positive finite value and the place of the decimal point behind the first
/// `place` of them.
struct Digits {
  std::string text;
  int place = 0;
};

template <class T>
Digits shortest_digits(T value) {
  const double wide = static_cast<double>(value);
  for (int precision = 0;; ++precision) {
    const std::string text = fmt::format("{:.{}e}", wide, precision);
    const double back = std::strtod(text.c_str(), nullptr);
    bool same;
    if constexpr (std::is_same_v<T, double>) same = back == wide;
    else same = static_cast<double>(T(static_cast<float>(back))) == wide;
    if (!same && precision < 17) continue;
    const auto e = text.find('e');
    Digits digits{text.substr(0, 1) + (precision > 0 ? text.substr(2, e - 2) : ""),
                  std::atoi(text.c_str() + e + 1) + 1};
    while (digits.text.size() > 1 && digits.text.back() == '0') digits.text.pop_back();
    return digits;
  }
}

/// Decimal or exponent form, whichever is shorter. f64 writes `1.0e10`, the others `1e10`.
std::string layout_digits(const Digits& digits, bool is_f64) {
  const int length = static_cast<int>(digits.text.size()), place = digits.place;
  if (place > 0 && place < length)
    return digits.text.substr(0, place) + '.' + digits.text.substr(place);
  const std::string exponent = std::to_string(place - 1);
  const int exponent_cost = static_cast<int>(exponent.size()) + 1 + (length == 1 ? 2 : 1);
  if (place <= 0 && 2 - place <= exponent_cost)
    return "0." + std::string(-place, '0') + digits.text;
  if (place >= length && place - length + 2 <= exponent_cost)
    return digits.text + std::string(place - length, '0') + ".0";
  if (length == 1) return digits.text + (is_f64 ? ".0e" : "e") + exponent;
  return digits.text.substr(0, 1) + '.' + digits.text.substr(1) + 'e' + exponent;
}

template <class T>
std::string number_text(T value) {
  if constexpr (std::is_integral_v<T>) {
    return std::to_string(value);
  } else if constexpr (requires { value.imag(); }) {
    const std::string imag = number_text(value.imag());
    return number_text(value.real()) + (imag[0] == '-' ? "" : "+") + imag + 'i';
  } else {
    const double wide = static_cast<double>(value);
    if (std::isnan(wide)) return "NaN";
    if (std::isinf(wide)) return wide > 0 ? "Inf" : "-Inf";
    const std::string sign = std::signbit(wide) ? "-" : "";
    if (wide == 0) return sign + "0.0";
    return sign + layout_digits(shortest_digits(T(std::abs(wide))), std::is_same_v<T, double>);
  }
}

/// Writes nested rows and counts the elements down.
template <class T>
class Rows {
 public:
  Rows(const T* values, const Dims& dims, std::int64_t limit)
      : values_(values), dims_(dims),
        left_(limit < 0 ? std::numeric_limits<std::int64_t>::max() : limit) {}

  void write(std::string& out, std::size_t axis, int indent) {
    if (axis == dims_.size()) {
      out += number_text(values_[next_++]);
      --left_;
      return;
    }
    const bool is_row = axis + 1 == dims_.size();
    const std::string margin(indent + 2, ' ');
    out += '[';
    for (std::int64_t i = 0; i < dims_[axis]; ++i) {
      if (i > 0) out += is_row ? ", " : ",";
      if (!is_row) out += '\n' + margin;
      if (left_ <= 0) {
        out += "...";
        break;
      }
      write(out, axis + 1, indent + 2);
    }
    if (!is_row) out += '\n' + std::string(indent, ' ');
    out += ']';
  }

 private:
  const T* values_;
  const Dims& dims_;
  std::int64_t left_;
  std::size_t next_ = 0;
};

std::string values_text(const Tensor& tensor, const Dims& dims, std::int64_t limit) {
  std::string out;
  try {
    if (element_count(dims) == 0) return "[]";
    const detail::HostRead read(tensor, "inspect");
    visit_element(read.type(), [&](auto element) {
      using T = decltype(element);
      Rows<T>(static_cast<const T*>(read.data()), dims, limit).write(out, 0, 2);
    });
  } catch (const DonatedError&) {
    return "consumed by donation";
  } catch (const ArgumentError&) {
    return "deallocated";
  }
  return out;
}

}  // namespace

std::string inspect(const Tensor& tensor, const InspectOptions& options) {
  if (!tensor.has_value()) return "#nx.Tensor<\n  empty\n>";
  const detail::Body& body = *Access::body(tensor);
  std::string out = "#nx.Tensor<\n";
  const VectorAxes vector_axes = tensor.vectorized_axes();
  if (!vector_axes.empty()) {
    out += "  vectorized";
    for (const VectorAxis& axis : vector_axes)
      out += fmt::format("[{}: {}]", axis.name.view(), axis.size);
    out += '\n';
  }
  out += fmt::format("  {}", name_of(body.type));
  const Names names = tensor.names();
  const Dims shape = tensor.shape();
  for (std::size_t i = 0; i < shape.size(); ++i)
    out += i < names.size() && !names[i].empty() ? fmt::format("[{}: {}]", names[i].view(), shape[i])
                                                 : fmt::format("[{}]", shape[i]);
  if (Access::mark(tensor)) out += " [donatable]";
  out += "\n  ";
  switch (body.content) {
    case detail::Content::kNode: out += fmt::format("traced in {}", body.trace->function()); break;
    case detail::Content::kTemplate: out += "template"; break;
    case detail::Content::kBuffer: out += values_text(tensor, body.dims, options.limit); break;
  }
  return out + "\n>";
}

std::ostream& operator<<(std::ostream& out, const Tensor& tensor) { return out << inspect(tensor); }

}  // namespace nx
