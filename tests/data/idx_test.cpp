// IDX files: what is read, and that nothing else is.
#include <gtest/gtest.h>
#include <zlib.h>

#include <fstream>
#include <random>

#include "nx/nx.h"
#include "temporary_folder.h"

namespace nx {
namespace {

using Bytes = std::vector<unsigned char>;

class Folder : public test::TemporaryFolder {
 public:
  std::string write(const std::string& name, const Bytes& bytes) const {
    const std::string path = *this / name;
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    return path;
  }
  std::string write_gz(const std::string& name, const Bytes& bytes) const {
    const std::string path = *this / name;
    gzFile file = gzopen(path.c_str(), "wb");
    gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
    gzclose(file);
    return path;
  }
};

/// u8[2, 3] with the values 1 to 6.
Bytes good() { return {0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 6}; }

/// Refused with an IoError that names the file and all of `parts`.
void expect_refused(const std::string& path, const std::vector<std::string>& parts = {}) {
  try {
    (void)data::read_idx(path);
    ADD_FAILURE() << "expected an IoError for " << path;
  } catch (const IoError& e) {
    const std::string text = e.what();
    EXPECT_NE(text.find(path), std::string::npos) << text;
    for (const std::string& part : parts) EXPECT_NE(text.find(part), std::string::npos) << text;
  }
}

TEST(Idx, ReadsPlainAndGzippedFilesAlike) {
  const Folder folder;
  for (const std::string& path : {folder.write("a", good()), folder.write_gz("b.gz", good())}) {
    const Tensor t = data::read_idx(path);
    EXPECT_EQ(t.type(), DType::u8);
    EXPECT_EQ(t.shape(), (Shape{2, 3}));
    EXPECT_EQ(t.to_flat_list<int>(), (std::vector<int>{1, 2, 3, 4, 5, 6}));
  }
}

TEST(Idx, ReadsBigEndianElements) {
  const Folder folder;
  const Tensor t = data::read_idx(
      folder.write("a", {0, 0, 0x0c, 1, 0, 0, 0, 2, 0, 0, 1, 0, 255, 255, 255, 254}));
  EXPECT_EQ(t.type(), DType::s32);
  EXPECT_EQ(t.to_flat_list<int>(), (std::vector<int>{256, -2}));
}

TEST(Idx, SaysWhatIsWrongWhereWhatWasExpectedAndWhatIsThere) {
  const Folder folder;
  expect_refused(folder.path() + "/missing", {"cannot be opened", "No such file"});
  expect_refused(folder.path(), {"expected a file", "got a folder"});
  expect_refused(folder.write("empty", {}),
                 {"the magic number at offset 0", "expected 4", "got 0"});
  expect_refused(folder.write("sizes", {0, 0, 8, 2, 0, 0, 0, 2, 0}),
                 {"a size at offset 8", "expected 4", "got 1"});
  const Bytes whole = good();
  expect_refused(folder.write("values", Bytes(whole.begin(), whole.end() - 2)),
                 {"the values at offset 12", "expected 6", "got 4"});
  Bytes bytes = good();
  bytes.push_back(7);
  for (const std::string& path : {folder.write("long", bytes), folder.write_gz("long.gz", bytes)})
    expect_refused(path, {"expected the end", "offset 18", "got more"});
  bytes = good();
  bytes[0] = 1;
  expect_refused(folder.write("magic", bytes),
                 {"magic number at offset 0", "expected 00 00", "got 01 00"});
  bytes = good();
  bytes[2] = 0x0a;
  expect_refused(folder.write("type", bytes), {"type at offset 2", "expected 0x08", "got 0x0a"});
  expect_refused(folder.write("huge", {0, 0, 8, 3, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
                                       255, 255}),
                 {"sizes at offset 4", "expected at most", "got more"});
}

TEST(Idx, CountsTheBytesOfAFileThatIsCutShortFarBehindItsHeader) {
  const Folder folder;
  Bytes bytes{0, 0, 8, 1, 3, 0, 0, 0};  // 50,331,648 values
  bytes.resize(8 + (std::size_t{40} << 20));
  expect_refused(folder.write("cut", bytes),
                 {"the values at offset 8", "expected 50331648", "got 41943040"});
}

TEST(Idx, RefusesEveryFileThatIsCutShort) {
  const Folder folder;
  const Bytes bytes = good();
  for (std::size_t n = 0; n < bytes.size(); ++n)
    expect_refused(
        folder.write("short", Bytes(bytes.begin(), bytes.begin() + static_cast<long>(n))));
}

TEST(Idx, RefusesAHeaderThatClaimsMoreThanTheFileHoldsWithoutAskingForMemory) {
  const Folder folder;
  const Bytes huge{0, 0, 8, 3, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1};
  expect_refused(folder.write("huge", huge));
  expect_refused(folder.write_gz("huge.gz", huge));
}

TEST(Idx, RefusesACutOffGzipStream) {
  const Folder folder;
  const std::string whole = folder.write_gz("whole.gz", good());
  std::ifstream in(whole, std::ios::binary);
  const Bytes bytes{std::istreambuf_iterator<char>(in), {}};
  for (std::size_t n = 2; n < bytes.size(); ++n)
    expect_refused(
        folder.write("cut.gz", Bytes(bytes.begin(), bytes.begin() + static_cast<long>(n))));
}

TEST(Idx, TakesOrRefusesEveryMutationWithATypedError) {
  const Folder folder;
  std::mt19937 random(20);
  const std::string whole = folder.write_gz("whole.gz", good());
  std::ifstream in(whole, std::ios::binary);
  const Bytes packed{std::istreambuf_iterator<char>(in), {}};
  for (int round = 0; round < 2000; ++round) {
    Bytes bytes = round % 2 ? good() : packed;
    for (unsigned k = 0; k <= random() % 3; ++k)
      bytes[random() % bytes.size()] = static_cast<unsigned char>(random());
    const std::string path = folder.write("mutant", bytes);
    try {
      (void)data::read_idx(path);
    } catch (const IoError&) {}
  }
}

TEST(LabelledIdx, RefusesLabelsOutOfRangeAndOtherCounts) {
  const Folder folder;
  const std::string images = folder.write("x", good());
  EXPECT_EQ(data::read_labelled(images, folder.write("y", {0, 0, 8, 1, 0, 0, 0, 2, 9, 0}), 10)
                .labels.shape(),
            (Shape{2}));
  const auto refusal = [&](const Bytes& bytes, int classes) {
    const std::string path = folder.write("y", bytes);
    try {
      (void)data::read_labelled(images, path, classes);
    } catch (const IoError& e) {
      EXPECT_NE(std::string(e.what()).find(path), std::string::npos) << e.what();
      return std::string(e.what());
    }
    ADD_FAILURE() << "expected an IoError";
    return std::string();
  };
  const auto has = [](const std::string& text, const std::vector<std::string>& parts) {
    for (const std::string& part : parts) EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  has(refusal({0, 0, 8, 1, 0, 0, 0, 2, 3, 10}, 10),
      {"label 1", "offset 9", "expected 0 to 9", "got 10"});
  has(refusal({0, 0, 8, 1, 0, 0, 0, 3, 1, 0, 2}, 10), {"expected 2 labels", "got 3", images});
  has(refusal(good(), 10), {"expected labels u8[n]", "got u8[2, 3]"});
  has(refusal({0, 0, 9, 1, 0, 0, 0, 2, 1, 0}, 10), {"expected labels u8[n]", "got s8[2]"});
  EXPECT_THROW((void)data::read_labelled(folder.path() + "/y", images, 10), IoError);
  EXPECT_THROW((void)data::read_labelled(images, images, 0), ArgumentError);
}

}  // namespace
}  // namespace nx
