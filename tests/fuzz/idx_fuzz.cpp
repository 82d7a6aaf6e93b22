// IDX files: anything is a tensor of the sizes in its header, or an IoError.
#include "fuzz/input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace nx;
  const fuzz::MemoryFile file(data, size);
  const std::string path = file.path();
  fuzz::without_leaks([&] {
    try {
      const Tensor t = data::read_idx(path);
      const bool is_plain = size >= 2 && data[0] == 0;
      const std::size_t header = 4 + 4 * t.shape().size();
      if (is_plain && size != header + fuzz::bytes_of(t)) fuzz::broken("no byte is left over");
    } catch (const IoError& error) {
      fuzz::check_error(error, path);
    }
    try {
      const data::Labelled set = data::read_labelled(path, path, 10);
      fuzz::broken("one file is not both images and labels");
    } catch (const IoError& error) {
      fuzz::check_error(error, path);
    }
  });
  return 0;
}
