// What the fuzz targets share: a file in memory with a name, and how a broken promise ends.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "nx/nx.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace nx::fuzz {

/// Ends the process, as libFuzzer and the replay expect of a finding.
[[noreturn]] inline void broken(const char* promise) {
  std::fprintf(stderr, "broken promise: %s\n", promise);
  std::abort();
}

/// A file that exists in memory only; its path can be opened any number of times.
class MemoryFile {
 public:
  MemoryFile(const void* data, std::size_t size) : fd_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    if (fd_ < 0) broken("no file in memory");
    for (std::size_t done = 0; done < size;) {
      const ssize_t put = ::write(fd_, static_cast<const char*>(data) + done, size - done);
      if (put <= 0) broken("no room for a file in memory");
      done += static_cast<std::size_t>(put);
    }
  }
  ~MemoryFile() { ::close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

inline std::size_t bytes_of(const Tensor& t) {
  return static_cast<std::size_t>(t.size()) * byte_size_of(t.type());
}

/// An error names the file it is about.
inline void check_error(const IoError& error, const std::string& path) {
  if (std::string(error.what()).find(path) == std::string::npos)
    broken("an IoError names the file");
}

/// Runs `f`, after which no tensor may be left.
template <class F>
void without_leaks(F&& f) {
  const std::size_t live = memory::stats().live;
  f();
  if (memory::stats().live != live) broken("nothing stays in memory");
}

}  // namespace nx::fuzz
