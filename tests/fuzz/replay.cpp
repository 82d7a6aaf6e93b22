// Runs a fuzz target without libFuzzer: over every file of a folder, and over seeded mutations of
// each. Usage: replay FOLDER
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "fuzz/input.h"

namespace {

using Bytes = std::vector<std::uint8_t>;
constexpr int kMutations = 500;  // of each file

Bytes read(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(in), {});
}

Bytes mutated(Bytes bytes, const Bytes& other, std::mt19937& random) {
  const auto below = [&](std::size_t n) { return random() % std::max<std::size_t>(n, 1); };
  for (std::size_t k = 0; k <= below(3); ++k) {
    const auto at = bytes.begin() + static_cast<std::ptrdiff_t>(below(bytes.size()));
    switch (below(6)) {
      case 0: bytes.insert(at, static_cast<std::uint8_t>(random())); break;
      case 1:
        if (!bytes.empty()) bytes.erase(at);
        break;
      case 2: bytes.resize(below(bytes.size() + 1)); break;
      case 3:
        bytes.insert(at, other.begin(),
                     other.begin() + static_cast<std::ptrdiff_t>(below(other.size() + 1)));
        break;
      default:
        if (!bytes.empty()) *at = static_cast<std::uint8_t>(random());
        break;
    }
  }
  return bytes;
}

/// Exact size, so that a sanitizer sees a read past the end.
void run(const Bytes& bytes) {
  const std::vector<std::uint8_t> exact(bytes.begin(), bytes.end());
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2 || !std::filesystem::is_directory(arguments[1])) {
    std::fprintf(stderr, "expected the folder of inputs\n");
    return 2;
  }
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(arguments[1]))
    paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  if (paths.empty()) return 2;
  std::mt19937 random(1);
  run({});
  for (const auto& path : paths) {
    const Bytes bytes = read(path);
    std::fprintf(stderr, "%s, %zu bytes\n", path.c_str(), bytes.size());
    run(bytes);
    for (int i = 0; i < kMutations; ++i)
      run(mutated(bytes, read(paths[random() % paths.size()]), random));
  }
  return 0;
}
