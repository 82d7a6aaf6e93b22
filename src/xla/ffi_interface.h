// The interface through which a program of XLA calls a function, as far as it is read here: the
// structs are those of XLA's xla/ffi/api/c_api.h (version 0.x) and of PJRT's extension for telling
// a plugin of such a function. Neither header is in the wheel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "xla/pjrt.h"

namespace nx::xla::ffi {

struct Extension {
  std::size_t struct_size;
  int type;
  Extension* next;
};
struct Version {
  std::size_t struct_size;
  Extension* extensions;
  int major, minor;
};
struct Metadata {
  std::size_t struct_size;
  Version version;
  std::uint32_t traits;
};
struct MetadataExtension {
  Extension base;
  Metadata* metadata;
};
struct Text {
  const char* data;
  std::size_t size;
};
struct Array {
  std::size_t struct_size;
  Extension* extensions;
  int type;
  void* data;
  std::int64_t rank;
  std::int64_t* dims;
};
struct Arrays {
  std::size_t struct_size;
  Extension* extensions;
  std::int64_t count;
  int* kinds;
  Array** arrays;
};
struct Attributes {
  std::size_t struct_size;
  Extension* extensions;
  std::int64_t count;
  int* kinds;
  Text** names;
  void** values;
};
struct ErrorArgs {
  std::size_t struct_size;
  Extension* extensions;
  const char* message;
  int code;
};
struct Error;
struct Api {
  std::size_t struct_size;
  Extension* extensions;
  Version version;
  const void* internal;
  Error* (*create_error)(ErrorArgs* args);
};
struct Call {
  std::size_t struct_size;
  Extension* extensions;
  const Api* api;
  void* context;
  int stage;
  Arrays arguments, results;
  Attributes attributes;
};
inline constexpr int kTextAttribute = 4;  // a kind of attribute
using Function = Error* (*)(Call* call);

/// The calls that are no work: XLA asks which version the function is written for, and runs stages
/// that have nothing to do.
bool is_no_work(Call& call) noexcept;
Error* error_of(const Call& call, const char* message) noexcept;

/// Tells the plugin of the function, for programs on host memory. False when it takes none at all;
/// throws BackendError when it refuses this one.
bool register_function(const PJRT_Api& api, std::string_view name, Function function);

}  // namespace nx::xla::ffi
