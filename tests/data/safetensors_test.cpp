// Safetensors files: round trips, refusals, and saves that fail.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "nx/nx.h"

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

class SafetensorsTest : public ::testing::Test {
 protected:
  SafetensorsTest() {
    std::string name = (std::filesystem::temp_directory_path() / "nxpp_st_XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    path_ = folder_ + "/state.safetensors";
  }
  ~SafetensorsTest() override { std::filesystem::remove_all(folder_); }

  static State make() { return {tensor({{1.f, -2.f}, {3.f, 4.f}}), tensor({7, 8, 9})}; }
  std::string bytes() const {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write(const std::string& text) const { std::ofstream(path_, std::ios::binary) << text; }
  void write(const std::string& header, const std::string& values) const {
    std::string length(8, '\0');
    const std::uint64_t n = header.size();
    std::memcpy(length.data(), &n, 8);
    write(length + header + values);
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

  std::string folder_, path_;
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
  EXPECT_THROW(save(folder_ + "/no/such/folder/file", make()), IoError);
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder_)) ++files;
  EXPECT_EQ(files, 1u) << "a half-written file was left behind";
}

TEST_F(SafetensorsTest, RefusesWrongOffsetsTypesSizesAndNames) {
  const std::string v8(8, 'x');
  const char* bad[] = {
      R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})",
      R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
      R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})",
      R"({"w":{"dtype":"F33","shape":[2],"data_offsets":[0,8]}})",
      R"({"w":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})",
      R"({"w":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8]}})",
      R"({"w":{"dtype":"F32","shape":"2","data_offsets":[0,8]}})",
      R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
      R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"v":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
      R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"w":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
      R"({"w":{"dtype":"F32","shape":[2]}})",
      R"(["w"])",
      R"({"w":)",
  };
  for (const char* header : bad) {
    write(header, v8);
    EXPECT_THROW((void)load_tree(path_), IoError) << header;
  }
  write("short");
  EXPECT_THROW((void)load_tree(path_), IoError);
  write(std::string(8, '\xff'));
  EXPECT_THROW((void)load_tree(path_), IoError);
  EXPECT_THROW((void)load_tree(folder_ + "/missing"), IoError);
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
    } catch (const IoError&) {
    }
    try {
      (void)load_tree(path_);
    } catch (const IoError&) {
    }
  }
}

}  // namespace
}  // namespace nx
