// layer: core
// The errors nxpp throws. Messages have the form `operation: what is wrong; expected E, got G`.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "nx/config.h"

namespace nx {

/// A place in the caller's source. Our own type, since clang 14 with libstdc++ 12 has no
/// `std::source_location`.
struct SourceLocation {
  const char* file = "";
  unsigned line = 0;
  const char* function = "";

  static constexpr SourceLocation current(const char* file = __builtin_FILE(),
                                          unsigned line = __builtin_LINE(),
                                          const char* function = __builtin_FUNCTION()) noexcept {
    return {file, line, function};
  }
};

/// Base of everything nxpp throws on purpose. `what()` is the whole message.
class NX_API Error : public std::runtime_error {
 public:
  Error(std::string_view operation, std::string_view message, SourceLocation where = {});
  ~Error() override;
  /// The operation or function that refused, such as `dot` or `jit`.
  const std::string& operation() const noexcept { return operation_; }
  /// Where in the caller's source the operation was asked for; `line` is 0 when unknown.
  SourceLocation where() const noexcept { return where_; }

 private:
  std::string operation_;
  SourceLocation where_;
};

#define NX_ERROR_CLASS_(Name)      \
  class NX_API Name : public Error { \
   public:                         \
    using Error::Error;            \
    ~Name() override;              \
  }

NX_ERROR_CLASS_(ShapeError);        ///< Dimensions, ranks or axis names do not fit.
NX_ERROR_CLASS_(DTypeError);        ///< The operation does not take this element type.
NX_ERROR_CLASS_(ArgumentError);     ///< An argument or option is out of its domain.
NX_ERROR_CLASS_(TraceError);        ///< A traced tensor escaped, or its value was asked for.
NX_ERROR_CLASS_(DonatedError);      ///< The buffer was donated to an earlier call.
NX_ERROR_CLASS_(UnsupportedError);  ///< This operation x type x compiler is not there.
NX_ERROR_CLASS_(BackendError);      ///< A plugin, PJRT or oneDNN reported a failure.
NX_ERROR_CLASS_(IoError);           ///< A file is missing, truncated or not of its format.
NX_ERROR_CLASS_(InternalError);     ///< A bug of nxpp; please report it.

#undef NX_ERROR_CLASS_

}  // namespace nx
