// Numbers to elements and back.
#include "transform/literal.h"

#include <complex>
#include <cstring>

#include "nx/element.h"

namespace nx::transform {

void write_number(const Number& number, DType type, void* to) {
  visit_element(type, [&](auto element) {
    using T = decltype(element);
    if constexpr (requires { element.imag(); }) {
      using Part = typename T::value_type;
      element = T(static_cast<Part>(number.real()), static_cast<Part>(number.imag()));
    } else if constexpr (std::is_integral_v<T>) {
      element = number.is_integer() ? static_cast<T>(number.integer())
                                    : static_cast<T>(static_cast<std::int64_t>(number.real()));
    } else if constexpr (std::is_class_v<T>) {
      element = T(static_cast<float>(number.real()));
    } else {
      element = static_cast<T>(number.real());
    }
    std::memcpy(to, &element, sizeof element);
  });
}

Number read_number(DType type, const void* from) {
  return visit_element(type, [&](auto element) -> Number {
    using T = decltype(element);
    std::memcpy(&element, from, sizeof element);
    if constexpr (std::is_class_v<T> && !requires { element.imag(); }) {
      return Number(static_cast<double>(static_cast<float>(element)));
    } else {
      return Number(element);
    }
  });
}

}  // namespace nx::transform
