// Safetensors files: round trips, refusals, and saves that fail.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <thread>

#include "data/file_size_limit.h"
#include "nx/nx.h"
#include "temporary_folder.h"

namespace safetensors_test {
struct State {
  nx::Tensor w, m;
};
NX_CONTAINER(State, w, m)
struct Other {
  nx::Tensor w, extra;
};
NX_CONTAINER(Other, w, extra)
}  // namespace safetensors_test

namespace nx {
namespace {

using safetensors_test::Other;
using safetensors_test::State;
using test::FileSizeLimit;

class SafetensorsTest : public ::testing::Test {
 protected:
  static State make() { return {tensor({{1.f, -2.f}, {3.f, 4.f}}), tensor({7, 8, 9})}; }
  std::string bytes() const { return test::contents(path_); }
  void write(const std::string& text) const { std::ofstream(path_, std::ios::binary) << text; }
  void write(const std::string& header, const std::string& values) const {
    std::string length(8, '\0');
    const std::uint64_t n = header.size();
    std::memcpy(length.data(), &n, 8);
    write(length + header + values);
  }
  std::size_t files() const {
    const std::filesystem::directory_iterator all(folder_.path());
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  }
  template <class T>
  std::string refusal(T like) const {
    try {
      load(path_, like);
    } catch (const IoError& e) {
      return e.what();
    }
    ADD_FAILURE() << "expected an IoError";
    return "";
  }

  const test::TemporaryFolder folder_;
  const std::string path_ = folder_ / "state.safetensors";
};

TEST_F(SafetensorsTest, LoadsWhatWasSaved) {
  save(path_, make());
  State got{zeros({2, 2}), zeros({3}, {.type = DType::s32})};
  load(path_, got);
  EXPECT_EQ(got.w.to_flat_list<float>(), (std::vector<float>{1, -2, 3, 4}));
  EXPECT_EQ(got.m.to_flat_list<int>(), (std::vector<int>{7, 8, 9}));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(got.w.host<float>().data()) % 64, 0u);
}

TEST_F(SafetensorsTest, LoadsATreeByItsPaths) {
  Tree tree;
  tree["dense_0"]["kernel"] = tensor({1.f, 2.f});
  tree["dense_0"]["bias"] = tensor(3.f);
  save(path_, tree);
  const Tree got = load_tree(path_);
  EXPECT_EQ(got.at("dense_0").at("kernel").tensor.to_flat_list<float>(),
            (std::vector<float>{1, 2}));
  EXPECT_EQ(got.at("dense_0").at("bias").tensor.to_number<float>(), 3.f);
}

TEST_F(SafetensorsTest, NamesALeafThatIsMissingExtraOrOfAnotherType) {
  save(path_, make());
  EXPECT_NE(refusal(Other{make().w, make().m}).find("extra"), std::string::npos);
  save(path_, Other{make().w, make().m});
  EXPECT_NE(refusal(make()).find("m"), std::string::npos);
  save(path_, make());
  const std::string shape = refusal(State{zeros({2, 3}), make().m});
  EXPECT_NE(shape.find("w"), std::string::npos) << shape;
  EXPECT_NE(shape.find("[2, 3]"), std::string::npos) << shape;
  EXPECT_NE(refusal(State{make().w, zeros({3})}).find("s32"), std::string::npos);
}

TEST_F(SafetensorsTest, LeavesTheTargetAloneWhenALoadFails) {
  save(path_, make());
  State target{tensor({{5.f, 5.f}, {5.f, 5.f}}), zeros({4}, {.type = DType::s32})};
  EXPECT_THROW(load(path_, target), IoError);
  EXPECT_EQ(target.w.to_flat_list<float>(), (std::vector<float>{5, 5, 5, 5}));
}

TEST_F(SafetensorsTest, KeepsThePreviousFileWhenASaveFails) {
  save(path_, make());
  const std::string before = bytes();
  auto consume = jit([](Tensor x) { return x + 1; });
  Tensor gone = tensor({1.f, 2.f});
  (void)consume(donatable(gone));
  EXPECT_THROW(save(path_, State{make().w, gone}), DonatedError);
  EXPECT_EQ(bytes(), before);
  EXPECT_THROW(save(folder_ / "no/such/folder/file", make()), IoError);
  EXPECT_EQ(files(), 1u) << "a half-written file was left behind";
}

TEST_F(SafetensorsTest, KeepsThePreviousFileWhenTheSystemTakesNoMore) {
  save(path_, make());
  const std::string before = bytes();
  {
    const FileSizeLimit limit(1000);
    EXPECT_THROW(save(path_, State{zeros({1000}), make().m}), IoError);
  }
  EXPECT_EQ(bytes(), before);
  EXPECT_EQ(files(), 1u) << "a half-written file was left behind";
  save(path_, State{zeros({1000}), make().m});
  EXPECT_GT(bytes().size(), 4000u);
}

TEST_F(SafetensorsTest, LeavesAFolderInItsPlaceAlone) {
  std::filesystem::create_directory(path_);
  EXPECT_THROW(save(path_, make()), IoError);
  EXPECT_TRUE(std::filesystem::is_directory(path_));
  EXPECT_EQ(files(), 1u);
}

TEST_F(SafetensorsTest, SavesFromManyThreadsToOneFileWhole) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 5; ++i)
        save(path_, State{full({50}, t, {.type = f32}), full({3}, t, {.type = s32})});
    });
  for (std::thread& thread : threads) thread.join();
  State got{zeros({50}), zeros({3}, {.type = s32})};
  load(path_, got);
  EXPECT_EQ(got.w.to_flat_list<float>()[49], got.m.to_flat_list<float>()[0]);
  EXPECT_EQ(files(), 1u);
}

TEST_F(SafetensorsTest, RefusesNamesThatTheFormatCannotHold) {
  Tree tree;
  tree["__metadata__"] = tensor(1.f);
  EXPECT_THROW(save(path_, tree), ArgumentError);
  Tree bytes;
  bytes["\xff\xfe"] = tensor(1.f);
  EXPECT_THROW(save(path_, bytes), ArgumentError);
  EXPECT_EQ(files(), 0u);
}

TEST_F(SafetensorsTest, SaysWhatIsWrongWhereWhatWasExpectedAndWhatIsThere) {
  struct Bad {
    const char *header, *parts[3];
  };
  const Bad list[] = {
      {R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})",
       {"`w`", "expected 8 bytes", "got 0 to 4"}},
      {R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
       {"`w`", "within 8", "got 4 to 12"}},
      {R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})",
       {"`w`", "expected 8", "got 8 to 0"}},
      {R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0]}})",
       {"`w`", "expected two", "got [0]"}},
      {R"({"w":{"dtype":"F33","shape":[2],"data_offsets":[0,8]}})",
       {"`w`", "expected one of F64", "got \"F33\""}},
      {R"({"w":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", {"`w`", "shape", "got -2"}},
      {R"({"w":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8]}})",
       {"`w`", "expected at most 8 bytes", "4294967296"}},
      {R"({"w":{"dtype":"F32","shape":"2","data_offsets":[0,8]}})",
       {"`w`", "expected a list", "got \"2\""}},
      {R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
       {"values", "expected 4 bytes", "got 8"}},
      {R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"v":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
       {"data_offsets", "expected to begin at 4", "got 0"}},
      {R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"w":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
       {"`w`", "expected the name once", "twice"}},
      {R"({"w":{"dtype":"F32","shape":[2]}})",
       {"`w`", "expected dtype, shape and data_offsets", "got {"}},
      {R"({"w":3})", {"`w`", "expected dtype", "got 3"}},
      {R"(["w"])", {"offset 8", "expected a JSON object", "got array"}},
      {R"({"w":)", {"offset 8", "expected JSON", "got something else at offset 13"}},
      {R"({"w":1e999})", {"offset 8", "expected numbers in range", "1e999"}},
      {"{\"\xff\":1}", {"offset 8", "expected JSON", "at offset 10"}},
  };
  for (const Bad& bad : list) {
    write(bad.header, std::string(8, 'x'));
    const std::string text = refusal(make());
    EXPECT_NE(text.find(path_), std::string::npos) << text;
    for (const char* part : bad.parts)
      EXPECT_NE(text.find(part), std::string::npos) << text << " has no " << part;
    EXPECT_THROW((void)load_tree(path_), IoError);
  }
  write("short");
  EXPECT_NE(refusal(make()).find("at offset 0: expected 8 bytes, got 5"), std::string::npos);
  write(std::string(8, '\xff'));
  EXPECT_NE(refusal(make()).find("at offset 0: expected at most 0, got 18446744073709551615"),
            std::string::npos);
  EXPECT_THROW((void)load_tree(folder_ / "missing"), IoError);
  EXPECT_THROW((void)load_tree(folder_.path()), IoError);
}

TEST_F(SafetensorsTest, TakesOrRefusesEveryMutationWithATypedError) {
  save(path_, make());
  const std::string whole = bytes();
  std::mt19937 random(11);
  for (int round = 0; round < 3000; ++round) {
    std::string text = whole;
    for (unsigned k = 0; k <= random() % 3; ++k)
      text[random() % text.size()] = static_cast<char>(random());
    if (round % 5 == 0) text.resize(random() % text.size());
    write(text);
    State like = make();
    try {
      load(path_, like);
    } catch (const IoError&) {}
    try {
      (void)load_tree(path_);
    } catch (const IoError&) {}
  }
}

}  // namespace
}  // namespace nx
