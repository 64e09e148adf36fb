#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include <ronde/core/error.h>
#include <ronde/data/mnist.h>

#include "data/environment.h"
#include "data/make_npz.h"
#include "data/testing.h"
#include "mnist/mnist_files.h"
#include "support/temp_dir.h"

namespace ronde {
namespace {

using namespace test;
namespace fs = std::filesystem;

class MnistFiles : public ::testing::Test {
 protected:
  MnistFiles() { make_mnist(root(), {.train = 20, .test = 10}); }
  std::string root() const { return dir_ / "data"; }
  std::string file(const std::string& name) const { return root() + "/" + name; }
  Mnist load() const { return load_mnist({.directory = root()}); }
  /// Loading must fail and say so for this file.
  void expect_damaged(const std::string& name, const std::string& part) {
    expect_error<InputError>([&] { load(); }, {"data: " + file(name) + ": ", part});
  }
  TempDir dir_;
};

void expect_small_set(const Mnist& mnist) {
  EXPECT_EQ(mnist.train.size(), 20);
  EXPECT_EQ(mnist.test.size(), 10);
  EXPECT_EQ(mnist.train.input_shape(), (Shape{28, 28, 1}));
  EXPECT_EQ(mnist.train.target_shape(), Shape{});
  EXPECT_EQ(mnist.train.class_names().size(), 10u);
  const auto [inputs, targets] = read_samples(mnist.train, {13, 2});
  EXPECT_EQ(targets.to_vector<int>(), (std::vector<int>{3, 2}));
  const Bytes pixels = digit_images(20, 1);
  for (std::size_t i = 0; i < 784; ++i)
    EXPECT_EQ(inputs.data<float>()[i],
              static_cast<float>(static_cast<unsigned char>(pixels[13 * 784 + i])) / 255.0f);
}

TEST_F(MnistFiles, AreFoundInTheDirectoryOrBelowIt) {
  expect_small_set(load());
  EXPECT_EQ(load().source, root());
  fs::rename(root(), dir_ / "mnist");
  const Mnist below = load_mnist({.directory = dir_.path()});
  expect_small_set(below);
  EXPECT_EQ(below.source, dir_ / "mnist");
}

TEST_F(MnistFiles, MayBePlainAndNamedWithADot) {
  const auto rewrite = [&](const char* from, const char* to) {
    fs::remove(file(from));
    write_bytes(file(to), std::string(to).find("images") == Bytes::npos
                              ? idx({20}, digit_labels(20))
                              : idx({20, 28, 28}, digit_images(20, 1)));
  };
  rewrite("train-images-idx3-ubyte.gz", "train-images.idx3-ubyte");
  rewrite("train-labels-idx1-ubyte.gz", "train-labels-idx1-ubyte");
  expect_small_set(load());
  fs::rename(file("t10k-labels-idx1-ubyte.gz"), file("t10k-labels.idx1-ubyte.gz"));
  expect_small_set(load());
}

TEST_F(MnistFiles, MayBeKerasArchive) {
  const auto images = [](int n, std::uint32_t seed) {
    return npy("|u1", "(" + std::to_string(n) + ", 28, 28)",
               digit_images(static_cast<std::uint32_t>(n), seed));
  };
  Bytes wide;
  for (const char label : digit_labels(10)) wide += little_endian(static_cast<std::uint64_t>(label), 8);
  const std::vector<NpzMember> members{{"x_test.npy", images(10, 2), true},
                                       {"x_train.npy", images(20, 1), true},
                                       {"y_train.npy", npy("|u1", "(20,)", digit_labels(20))},
                                       {"y_test.npy", npy("<i8", "(10,)", wide), true}};
  const std::string archive = dir_ / "mnist.npz";
  write_bytes(archive, npz(members));
  const Mnist mnist = load_mnist({.directory = dir_.path()});
  expect_small_set(mnist);
  EXPECT_EQ(mnist.source, archive);

  write_bytes(archive, npz({members[0], members[1], members[2]}));
  expect_error<InputError>([&] { load_mnist({.directory = dir_.path()}); }, {archive, "no array y_test"});
}

TEST_F(MnistFiles, OfUnknownContentAreSaidToBe) {
  const Mnist mnist = load();
  EXPECT_EQ(mnist.name, "");
  EXPECT_NE(mnist.description().find("unknown data in MNIST's form, 20 + 10 images from " + root()),
            std::string::npos);
}

// SHA-256 of the decompressed Debian package `dataset-fashion-mnist`, where it is installed.
TEST(Mnist, RecognisesFashionMnist) {
  const std::string directory = "/usr/share/datasets/fashion-mnist";
  if (!fs::exists(directory)) GTEST_SKIP() << "dataset-fashion-mnist is not installed";
  const Mnist mnist = load_mnist({.directory = directory});
  EXPECT_EQ(mnist.name, "Fashion-MNIST");
  EXPECT_EQ(mnist.description(), "Fashion-MNIST, 60,000 + 10,000 images from " + directory);
  EXPECT_EQ(mnist.test.class_names().at(9), "Ankle boot");
  EXPECT_EQ(mnist.train.targets().data<std::int32_t>()[0], 9);
}

TEST(Mnist, HashesAnArrayAsItsIdxFile) {
  // sha256sum of 00 00 08 02 00 00 00 01 00 00 00 03 61 62 63
  EXPECT_EQ(idx_sha256(host<std::uint8_t>({1, 3}, {'a', 'b', 'c'})),
            "3b293754e7f43b1b891d30d2ea5964e65112b00b2dc33104082a1829a62a7225");
}

TEST_F(MnistFiles, ThatAreMissingAreNamedWithWhatToDo) {
  expect_error<IoError>([&] { load_mnist({.directory = dir_ / "none"}); },
                        {"no MNIST in " + dir_ / "none" + ", " + dir_ / "none" + "/mnist", "--download",
                         "train-images-idx3-ubyte.gz", "mnist.npz", "--data-dir", "RONDE_DATA"});
  EXPECT_FALSE(has_mnist({.directory = dir_ / "none"}));
  EXPECT_TRUE(has_mnist({.directory = root()}));
  fs::remove(file("t10k-labels-idx1-ubyte.gz"));
  expect_error<IoError>([&] { load(); }, {"in " + root() + " is missing: t10k-labels-idx1-ubyte.gz;"});
  EXPECT_FALSE(has_mnist({.directory = root()}));
  make_mnist(root() + "/mnist", {.train = 20, .test = 10});
  expect_small_set(load());
}

// Root may search everything.
[[noreturn]] void look_as_nobody(const std::string& directory) {
  std::string text;
  try {
    if (::setuid(65534) == 0 || ::geteuid() != 0) load_mnist({.directory = directory});
  } catch (const IoError& error) {
    text = error.what();
  }
  std::fputs(text.c_str(), stderr);
  std::_Exit(0);
}

TEST_F(MnistFiles, ThatMayNotBeSearchedForAreNotMissing) {
  fs::permissions(root(), fs::perms::none);
  fs::permissions(dir_.path(), fs::perms::all);
  EXPECT_EXIT(look_as_nobody(root()), ::testing::ExitedWithCode(0),
              "no MNIST in .*/data \\(Permission denied\\), .*/data/mnist \\(Permission denied\\)");
  fs::permissions(root(), fs::perms::all);
  EXPECT_EXIT(look_as_nobody(root() + "/none"), ::testing::ExitedWithCode(0),
              "no MNIST in .*/none, .*/mnist;");
}

TEST_F(MnistFiles, AreSearchedWhereTheEnvironmentSays) {
  const SetEnv home("HOME", dir_.path().c_str()), cache("XDG_CACHE_HOME", nullptr);
  {
    const SetEnv data("RONDE_DATA", root().c_str());
    expect_small_set(load_mnist());
  }
  const SetEnv data("RONDE_DATA", nullptr);
  expect_error<IoError>([] { load_mnist(); }, {dir_ / ".cache/ronde, ", dir_ / ".keras/datasets"});
  fs::create_directories(dir_ / ".cache/ronde");
  fs::rename(root(), dir_ / ".cache/ronde/mnist");
  expect_small_set(load_mnist());
  fs::create_directories(dir_ / ".keras");
  fs::rename(dir_ / ".cache/ronde/mnist", dir_ / ".keras/datasets");
  expect_small_set(load_mnist());
}

TEST_F(MnistFiles, ThatAreDamagedAreNamed) {
  const std::string labels = "train-labels-idx1-ubyte.gz", images = "train-images-idx3-ubyte.gz";
  const Bytes good_labels = read_bytes(file(labels)), good_images = read_bytes(file(images));
  const auto expect_with = [&](const std::string& name, const Bytes& bytes, const std::string& part) {
    write_bytes(file(name), bytes);
    expect_damaged(name, part);
    write_bytes(file(name), name == labels ? good_labels : good_images);
  };
  expect_with(labels, gzip(idx({19}, digit_labels(19))), "19 labels for 20 images");
  expect_with(labels, gzip(idx({21}, digit_labels(21))), "21 labels for 20 images");
  expect_with(labels, gzip(idx({20}, digit_labels(19) + "\x0a")), "label 10 of image 19, expected 0 to 9");
  expect_with(labels, gzip(idx({20, 1}, digit_labels(20))), "expected labels u8 (n)");
  expect_with(labels, good_labels.substr(0, 20), "truncated");
  expect_with(labels, "", "truncated");
  expect_with(labels, good_images, "expected labels u8 (n)");
  expect_with(images, gzip(idx({20, 28, 27}, Bytes(20 * 28 * 27, 'x'))),
              "u8 (20, 28, 27), expected images u8 (n, 28, 28)");
  expect_with(images, gzip(idx({0, 28, 28}, "")), "no images");
  expect_with(images, gzip(idx({21, 28, 28}, digit_images(20, 1))), "truncated");
  expect_with(images, good_images.substr(0, good_images.size() / 2), "truncated");
  expect_with(images, "<html>404</html>", "not an IDX file");
  expect_small_set(load());
}

TEST_F(MnistFiles, CountsAreWrittenToBeRead) {
  write_bytes(file("train-images-idx3-ubyte.gz"), gzip(idx({1200, 28, 28}, digit_images(1200, 1))));
  expect_damaged("train-labels-idx1-ubyte.gz", "20 labels for 1,200 images");
}

}  // namespace
}  // namespace ronde
