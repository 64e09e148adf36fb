#include <gtest/gtest.h>

#include <filesystem>

#include <ronde/core/error.h>
#include <ronde/data/image_folder.h>

#include "data/testing.h"
#include "support/make_idx.h"
#include "support/temp_dir.h"

namespace ronde {
namespace {

using namespace test;
namespace fs = std::filesystem;

/// A picture of one colour.
Bytes picture(std::int64_t height, std::int64_t width, std::uint8_t red, std::uint8_t green,
              std::uint8_t blue) {
  std::vector<std::uint8_t> pixels;
  for (std::int64_t i = 0; i < height * width; ++i) pixels.insert(pixels.end(), {red, green, blue});
  return encode_png(host<std::uint8_t>({height, width, 3}, pixels));
}

class Pets : public ::testing::Test {
 protected:
  Pets() {
    put("dog/b.png", picture(2, 3, 255, 0, 51));
    put("dog/A.PNG", picture(2, 3, 0, 0, 102));
    put("cat/z.png", picture(2, 3, 51, 51, 51));
    put("cat/more/k.png", picture(2, 3, 102, 0, 0));
    put("cat/notes.txt", "no picture");
    put("cat/.hidden.png", "no picture");
    put(".cache/a.png", "no picture");
    put("readme.png", "no class");
  }
  void put(const std::string& name, const Bytes& bytes) const {
    fs::create_directories(fs::path(root()) / fs::path(name).parent_path());
    write_bytes(root() + "/" + name, bytes);
  }
  std::string root() const { return dir_ / "pets"; }
  TempDir dir_;
};

TEST_F(Pets, AreListedByClassAndPath) {
  const ImageFolder pets(root());
  EXPECT_EQ(pets.class_names(), (std::vector<std::string>{"cat", "dog"}));
  ASSERT_EQ(pets.size(), 4);
  EXPECT_EQ(pets.input_shape(), (Shape{2, 3, 3}));
  EXPECT_EQ(pets.path(0), root() + "/cat/more/k.png");
  EXPECT_EQ(pets.path(1), root() + "/cat/z.png");
  EXPECT_EQ(pets.path(2), root() + "/dog/A.PNG");
  EXPECT_EQ(pets.label(3), 1);
  EXPECT_THROW(pets.path(4), Error);
}

TEST_F(Pets, AreReadAndScaled) {
  const ImageFolder pets(root());
  const auto [inputs, targets] = read_samples(pets, {3, 1});
  EXPECT_EQ(targets.to_vector<int>(), (std::vector<int>{1, 0}));
  for (int pixel = 0; pixel < 6; ++pixel) {
    EXPECT_EQ(inputs.data<float>()[3 * pixel], 1.0f);
    EXPECT_EQ(inputs.data<float>()[3 * pixel + 2], 0.2f);
    EXPECT_EQ(inputs.data<float>()[18 + 3 * pixel], 0.2f);
  }
  const ImageFolder shifted(root(), {.channels = ImageChannels::grey, .scale = 2.0, .offset = -1.0});
  EXPECT_EQ(shifted.input_shape(), (Shape{2, 3, 1}));
  const auto [grey, labels] = read_samples(shifted, {1}, DType::f64);
  EXPECT_EQ(grey.to_vector<double>(), std::vector<double>(6, 101.0));
}

TEST_F(Pets, MayBeOfManySizesWhenOneIsGiven) {
  put("cat/w.png", picture(9, 4, 9, 9, 9));
  const ImageFolder as_stored(root());
  expect_error<InputError>([&] { read_samples(as_stored, {1}); },
                           {"data: " + root() +
                            "/cat/w.png: a picture (height, width, channels) of (9, 4, 3), "
                            "expected (2, 3, 3) as of the first one"});
  const ImageFolder resized(root(), {.height = 5, .width = 6, .scale = 1.0});
  EXPECT_EQ(resized.input_shape(), (Shape{5, 6, 3}));
  const auto [inputs, targets] = read_samples(resized, {1});
  EXPECT_EQ(inputs.to_vector<double>(), std::vector<double>(90, 9.0));
}

TEST_F(Pets, MayBeOfChosenClasses) {
  const ImageFolder dogs(root(), {.class_names = {"dog"}});
  EXPECT_EQ(dogs.size(), 2);
  EXPECT_EQ(dogs.label(0), 0);
  const ImageFolder turned(root(), {.class_names = {"dog", "cat"}});
  EXPECT_EQ(turned.label(0), 0);
  EXPECT_EQ(turned.path(0), root() + "/dog/A.PNG");
  expect_error<IoError>([&] { ImageFolder(root(), {.class_names = {"cow"}}); },
                        {"data: " + root() + "/cow: No such file"});
}

TEST_F(Pets, MayLieBehindLinks) {
  fs::create_directory_symlink(root() + "/dog", root() + "/cat/dogs");
  fs::create_directory_symlink(root() + "/cat", root() + "/lions");
  const ImageFolder pets(root());
  EXPECT_EQ(pets.class_names(), (std::vector<std::string>{"cat", "dog", "lions"}));
  EXPECT_EQ(pets.size(), 4 + 2 + 4);
}

TEST_F(Pets, LinksInACircleAreNamed) {
  const auto expect_refused = [&](const std::string& target, const std::string& link) {
    fs::create_directory_symlink(target, root() + "/" + link);
    expect_error<InputError>(
        [&] { ImageFolder pets(root()); },
        {"data: " + root() + "/", ": leads back to a folder that it lies in, by a link"});
    fs::remove(root() + "/" + link);
  };
  expect_refused("..", "cat/up");
  expect_refused(".", "cat/self");
  expect_refused("../..", "cat/more/high");
  expect_refused("../../..", "cat/more/higher");  // above the root, which is met again below
  expect_refused(".", "all");
}

TEST_F(Pets, ThatAreWrongAreNamed) {
  put("dog/b.png", picture(2, 3, 1, 2, 3).substr(0, 60));
  expect_error<InputError>([&] { read_samples(ImageFolder(root()), {3}); },
                           {"data: " + root() + "/dog/b.png: damaged PNG: "});
  const ImageFolder pets(root());
  fs::remove(root() + "/cat/z.png");
  expect_error<IoError>([&] { read_samples(pets, {1}); }, {"data: " + root() + "/cat/z.png: No such file"});
  expect_error<IoError>([&] { ImageFolder(dir_ / "none"); }, {"data: " + dir_ / "none" + ": No such file"});
  expect_error<InputError>([&] { ImageFolder(root() + "/dog"); },
                           {root() + "/dog: holds no folders, expected one for each class"});
  fs::create_directories(dir_ / "empty/a");
  expect_error<InputError>([&] { ImageFolder(dir_ / "empty"); },
                           {dir_ / "empty" + ": holds no .png, .jpg or .jpeg files in its 1 folders"});
  EXPECT_THROW(ImageFolder(root(), {.height = 5}), UsageError);
}

}  // namespace
}  // namespace ronde
