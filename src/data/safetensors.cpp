// The safetensors format (huggingface.co/docs/safetensors, "Format"): everything in the header is
// checked before a value is given to anyone.
#include "nx/safetensors.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "core/body.h"
#include "graph/dispatch.h"

namespace nx::detail {
namespace {

using nlohmann::json;

constexpr std::uint64_t kMostHeader = 100'000'000;  // the format's own limit

constexpr std::string_view kMetadata = "__metadata__";

struct TypeNames {
  DType type;
  const char* name;
};
constexpr TypeNames kTypes[] = {{DType::f64, "F64"},    {DType::f32, "F32"},
                                {DType::f16, "F16"},    {DType::bf16, "BF16"},
                                {DType::s64, "I64"},    {DType::s32, "I32"},
                                {DType::s16, "I16"},    {DType::s8, "I8"},
                                {DType::u64, "U64"},    {DType::u32, "U32"},
                                {DType::u16, "U16"},    {DType::u8, "U8"},
                                {DType::f8, "F8_E5M2"}, {DType::f8_e4m3fn, "F8_E4M3"},
                                {DType::c64, "C64"}};

/// A file descriptor that closes itself; every failure names the file.
class File {
 public:
  File(const std::string& path, int flags) : path_(path), fd_(::open(path.c_str(), flags, 0644)) {
    if (fd_ < 0) fail("cannot be opened");
  }
  File(const File&) = delete;
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw IoError("safetensors", fmt::format("{}: {}: {}", path_, what, std::strerror(errno)));
  }
  std::uint64_t size() const {
    struct stat info {};
    if (::fstat(fd_, &info) != 0) fail("cannot be examined");
    if (!S_ISREG(info.st_mode))
      throw IoError("safetensors", fmt::format("{}: expected a file, got something else", path_));
    return static_cast<std::uint64_t>(info.st_size);
  }
  void read(void* to, std::uint64_t size) const {
    for (std::uint64_t done = 0; done < size;) {
      const ssize_t got = ::read(fd_, static_cast<char*>(to) + done, size - done);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail("cannot be read");
      if (got == 0)
        throw IoError("safetensors", fmt::format("{}: became shorter while read", path_));
      done += static_cast<std::uint64_t>(got);
    }
  }
  void write(const void* from, std::uint64_t size) const {
    for (std::uint64_t done = 0; done < size;) {
      const ssize_t put = ::write(fd_, static_cast<const char*>(from) + done, size - done);
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) fail("cannot be written");
      done += static_cast<std::uint64_t>(put);
    }
  }
  void sync() const {
    if (::fsync(fd_) != 0) fail("cannot be synced");
  }

 private:
  std::string path_;
  int fd_;
};

/// The file that is written beside the target, under a name that nobody has. It is removed unless
/// it was renamed to the target.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& target) : target_(target), path_(free_name(target)) {
    file_.emplace(path_, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (file_) ::unlink(path_.c_str());
  }
  const File& file() const { return *file_; }
  void rename() {
    if (::rename(path_.c_str(), target_.c_str()) != 0)
      throw IoError("safetensors",
                    fmt::format("{}: cannot be put in place: {}", target_, std::strerror(errno)));
    file_.reset();
  }

 private:
  static std::string free_name(const std::string& target) {
    static std::atomic<std::uint64_t> count{0};
    struct stat info {};
    for (;;) {
      std::string name = fmt::format("{}.{}.{}.tmp", target, ::getpid(), count++);
      if (::lstat(name.c_str(), &info) != 0) return name;
    }
  }

  std::string target_, path_;
  std::optional<File> file_;
};

struct Entry {
  std::string name;
  DType type = DType::f32;
  Dims dims;
  std::uint64_t begin = 0, end = 0;
};

std::string known_types() {
  std::string list;
  for (const TypeNames& t : kTypes) list += (list.empty() ? "" : ", ") + std::string(t.name);
  return list;
}

class Header {
 public:
  Header(const std::string& path, const std::string& text, std::uint64_t data_bytes)
      : path_(path), data_bytes_(data_bytes) {
    std::set<std::string> names;
    // Duplicate keys are lost in a parsed object: they are looked for while parsing.
    const auto check_key = [&](int depth, json::parse_event_t event, json& value) {
      if (event == json::parse_event_t::key && depth == 1 &&
          !names.insert(value.get<std::string>()).second)
        fail(fmt::format("`{}`: expected the name once, got it twice", value.get<std::string>()));
      return true;
    };
    const json header = parsed(text, check_key);
    if (!header.is_object())
      fail(fmt::format("header at offset 8: expected a JSON object, got {}", header.type_name()));
    for (const auto& [name, value] : header.items())
      if (name != kMetadata) entries_.push_back(entry(name, value));
    check_layout();
  }
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw IoError("safetensors", fmt::format("{}: {}", path_, what));
  }

  template <class F>
  json parsed(const std::string& text, F&& check_key) const {
    try {
      return json::parse(text, check_key);
    } catch (const json::parse_error& error) {
      fail(fmt::format("header at offset 8: expected JSON, got something else at offset {}: {}",
                       8 + (error.byte == 0 ? 0 : error.byte - 1), error.what()));
    } catch (const json::out_of_range& error) {
      fail(fmt::format("header at offset 8: expected numbers in range, got {}", error.what()));
    }
  }

  std::uint64_t number(const std::string& name, const json& value, const char* what) const {
    if (!value.is_number_unsigned())
      fail(fmt::format("`{}`: {}: expected a whole number, got {}", name, what, value.dump()));
    return value.get<std::uint64_t>();
  }

  Entry entry(const std::string& name, const json& value) const {
    Entry e;
    e.name = name;
    if (!value.is_object() || !value.contains("dtype") || !value.contains("shape") ||
        !value.contains("data_offsets"))
      fail(fmt::format("`{}`: expected dtype, shape and data_offsets, got {}", name, value.dump()));
    const json &dtype = value["dtype"], &shape = value["shape"], &offsets = value["data_offsets"];
    const auto* const known = std::find_if(
        std::begin(kTypes), std::end(kTypes),
        [&](const auto& t) { return dtype.is_string() && dtype.get<std::string>() == t.name; });
    if (known == std::end(kTypes))
      fail(fmt::format("`{}`: dtype: expected one of {}, got {}", name, known_types(),
                       dtype.dump()));
    e.type = known->type;
    if (!shape.is_array())
      fail(fmt::format("`{}`: shape: expected a list, got {}", name, shape.dump()));
    std::uint64_t bytes = byte_size_of(e.type);
    for (const json& size : shape) {
      const std::uint64_t n = number(name, size, "shape");
      if (n > (std::uint64_t{1} << 48) || __builtin_mul_overflow(bytes, n, &bytes))
        fail(fmt::format("`{}`: shape: expected at most {} bytes, got {}", name, data_bytes_,
                         shape.dump()));
      e.dims.push_back(static_cast<std::int64_t>(n));
    }
    if (!offsets.is_array() || offsets.size() != 2)
      fail(fmt::format("`{}`: data_offsets: expected two numbers, got {}", name, offsets.dump()));
    e.begin = number(name, offsets[0], "data_offsets");
    e.end = number(name, offsets[1], "data_offsets");
    if (e.end < e.begin || e.end > data_bytes_ || e.end - e.begin != bytes)
      fail(fmt::format("`{}`: data_offsets: expected {} bytes within {}, got {} to {}", name, bytes,
                       data_bytes_, e.begin, e.end));
    return e;
  }

  /// The values follow each other without holes or overlaps, to the end of the file.
  void check_layout() const {
    std::vector<const Entry*> order;
    for (const Entry& e : entries_) order.push_back(&e);
    std::sort(order.begin(), order.end(), [](const Entry* a, const Entry* b) {
      return std::pair(a->begin, a->end) < std::pair(b->begin, b->end);
    });
    std::uint64_t at = 0;
    for (const Entry* e : order) {
      if (e->begin != at)
        fail(fmt::format("`{}`: data_offsets: expected to begin at {}, got {}", e->name, at,
                         e->begin));
      at = e->end;
    }
    if (at != data_bytes_) fail(fmt::format("values: expected {} bytes, got {}", at, data_bytes_));
  }

  std::string path_;
  std::uint64_t data_bytes_;
  std::vector<Entry> entries_;
};

std::string header_of(const NamedTensors& tensors) {
  json header = json::object();
  std::uint64_t at = 0;
  for (const auto& [name, tensor] : tensors) {
    const Body& body = Access::checked(tensor, "save");
    const auto* const known = std::find_if(std::begin(kTypes), std::end(kTypes),
                                           [&](const auto& t) { return t.type == body.type; });
    if (known == std::end(kTypes))
      throw UnsupportedError(
          "save", fmt::format("`{}`: safetensors has no type {}", name, name_of(body.type)));
    if (name == kMetadata)
      throw ArgumentError("save", fmt::format("the format keeps the name `{}` to itself", name));
    if (header.contains(name))
      throw ArgumentError("save", fmt::format("two leaves are called `{}`", name));
    const std::uint64_t bytes =
        static_cast<std::uint64_t>(element_count(body.dims)) * byte_size_of(body.type);
    header[name] = {{"dtype", known->name},
                    {"shape", std::vector<std::int64_t>(body.dims.begin(), body.dims.end())},
                    {"data_offsets", {at, at + bytes}}};
    at += bytes;
  }
  try {
    std::string text = header.dump();
    text.append((8 - text.size() % 8) % 8, ' ');  // the values begin at a multiple of 8
    return text;
  } catch (const json::type_error& error) {
    throw ArgumentError("save",
                        fmt::format("expected names in UTF-8, got another: {}", error.what()));
  }
}

}  // namespace

void save_named(const std::string& path, const NamedTensors& tensors) {
  const std::string header = header_of(tensors);
  // Leases first: a tensor that is gone is an error before a file is touched.
  std::vector<HostRead> values;
  values.reserve(tensors.size());
  for (const auto& [name, tensor] : tensors) values.emplace_back(tensor, "save");
  TemporaryFile temporary(path);
  const std::uint64_t length = header.size();
  temporary.file().write(&length, sizeof length);
  temporary.file().write(header.data(), header.size());
  for (const HostRead& read : values)
    temporary.file().write(read.data(),
                           static_cast<std::uint64_t>(read.count()) * byte_size_of(read.type()));
  temporary.file().sync();
  temporary.rename();
  const std::size_t slash = path.rfind('/');
  const File folder(slash == std::string::npos ? "." : path.substr(0, slash + 1),
                    O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  folder.sync();
}

NamedTensors load_named(const std::string& path) {
  const File file(path, O_RDONLY | O_CLOEXEC);
  const std::uint64_t size = file.size();
  const auto fail = [&](const std::string& what) {
    throw IoError("safetensors", fmt::format("{}: {}", path, what));
  };
  std::uint64_t length = 0;
  if (size < 8) fail(fmt::format("header length at offset 0: expected 8 bytes, got {}", size));
  file.read(&length, 8);
  if (length > kMostHeader || length > size - 8)
    fail(fmt::format("header length at offset 0: expected at most {}, got {}",
                     std::min(kMostHeader, size - 8), length));
  std::string text(length, '\0');
  file.read(text.data(), length);
  const Header header(path, text, size - 8 - length);

  std::vector<const Entry*> order;
  for (const Entry& e : header.entries()) order.push_back(&e);
  std::sort(order.begin(), order.end(),
            [](const Entry* a, const Entry* b) { return a->begin < b->begin; });
  NamedTensors tensors;
  for (const Entry* e : order) {
    Tensor tensor = graph::new_tensor(e->type, e->dims);
    file.read(graph::data_of(tensor), e->end - e->begin);
    tensors.emplace_back(e->name, std::move(tensor));
  }
  return tensors;
}

std::vector<Tensor> load_matching(const std::string& path, const NamedTensors& wanted) {
  std::map<std::string, Tensor> have;
  for (auto& [name, tensor] : load_named(path)) have.emplace(name, std::move(tensor));
  std::vector<Tensor> tensors;
  for (const auto& [name, like] : wanted) {
    const auto found = have.find(name);
    const Body& body = Access::checked(like, "load");
    if (found == have.end())
      throw IoError("load", fmt::format("{}: `{}` is missing; expected {}", path, name,
                                        nx::to_string(body.type, body.dims)));
    const Body& got = *Access::body(found->second);
    if (got.type != body.type || !(got.dims == body.dims))
      throw IoError("load", fmt::format("{}: `{}`: expected {}, got {}", path, name,
                                        nx::to_string(body.type, body.dims),
                                        nx::to_string(got.type, got.dims)));
    Tensor tensor = std::move(found->second);
    have.erase(found);
    if (body.labels)
      tensor = Access::with_labels(tensor, body.labels->names, body.labels->vector_axes);
    tensors.push_back(std::move(tensor));
  }
  if (!have.empty())
    throw IoError("load", fmt::format("{}: `{}` is not expected", path, have.begin()->first));
  return tensors;
}

}  // namespace nx::detail

namespace nx {

Tree load_tree(const std::string& path) {
  Tree tree;
  for (auto& [name, tensor] : detail::load_named(path)) {
    Tree* at = &tree;
    std::size_t begin = 0;
    for (std::size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', begin)) {
      at = &(*at)[name.substr(begin, dot - begin)];
      begin = dot + 1;
    }
    at = &(*at)[name.substr(begin)];
    if (at->is_leaf() || !at->children.empty())
      throw IoError("safetensors", path + ": `" + name + "` is both a tensor and a group");
    at->tensor = std::move(tensor);
  }
  return tree;
}

}  // namespace nx
