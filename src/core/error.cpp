// Anchors of the error classes, and how a message is put together.
#include "nx/error.h"

#include <fmt/format.h>

namespace nx {
namespace {

std::string compose(std::string_view operation, std::string_view message, SourceLocation where) {
  std::string text = operation.empty() ? std::string(message)
                                       : fmt::format("{}: {}", operation, message);
  if (where.line != 0) text += fmt::format(" ({}:{})", where.file, where.line);
  return text;
}

}  // namespace

Error::Error(std::string_view operation, std::string_view message, SourceLocation where)
    : std::runtime_error(compose(operation, message, where)),
      operation_(operation),
      where_(where) {}

// Defined here so that each class has one type info in the library and catch works across it.
Error::~Error() = default;
ShapeError::~ShapeError() = default;
DTypeError::~DTypeError() = default;
ArgumentError::~ArgumentError() = default;
TraceError::~TraceError() = default;
DonatedError::~DonatedError() = default;
UnsupportedError::~UnsupportedError() = default;
BackendError::~BackendError() = default;
IoError::~IoError() = default;
InternalError::~InternalError() = default;

}  // namespace nx
