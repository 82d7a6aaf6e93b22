// Safetensors files: anything is a set of tensors that fill the file exactly, or an IoError.
#include <cstring>

#include "fuzz/input.h"
#include "nx/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace nx;
  const fuzz::MemoryFile file(data, size);
  const std::string path = file.path();
  fuzz::without_leaks([&] {
    try {
      std::uint64_t header = 0;
      std::size_t values = 0;
      std::vector<std::pair<std::string, Tensor>> wanted;
      for (auto& [name, t] : detail::load_named(path)) {
        values += fuzz::bytes_of(t);
        wanted.emplace_back(name, t);
      }
      std::memcpy(&header, data, sizeof header);
      if (sizeof header + header + values != size) fuzz::broken("the values fill the file");
      const auto again = detail::load_matching(path, wanted);
      for (std::size_t i = 0; i < again.size(); ++i)
        if (to_binary(again[i]) != to_binary(wanted[i].second)) fuzz::broken("a file reads alike");
      (void)load_tree(path);
    } catch (const IoError& error) {
      fuzz::check_error(error, path);
    }
    std::pair<Tensor, Tensor> target{tensor({1.f, 2.f}), tensor(3)};
    try {
      load(path, target);
    } catch (const IoError& error) {
      fuzz::check_error(error, path);
      if (target.first.to_flat_list<float>()[1] != 2.f)
        fuzz::broken("a failed load changes nothing");
    }
  });
  return 0;
}
