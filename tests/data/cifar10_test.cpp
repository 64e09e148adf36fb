#include <gtest/gtest.h>

#include <filesystem>

#include <ronde/core/error.h>
#include <ronde/data/cifar10.h>

#include "data/environment.h"
#include "data/testing.h"
#include "support/make_cifar10.h"
#include "support/temp_dir.h"

namespace ronde {
namespace {

using namespace test;
namespace fs = std::filesystem;

constexpr std::uint32_t kCount = 12;  // images of a file

class Cifar10Files : public ::testing::Test {
 protected:
  Cifar10Files() { make_cifar10(root(), {.images_per_file = kCount}); }
  std::string root() const { return dir_ / "data"; }
  std::string file(const std::string& name) const { return root() + "/" + name; }
  Cifar10 load() const { return load_cifar10({.directory = root()}); }
  void expect_damaged(const std::string& name, const Bytes& bytes, const std::string& part) {
    const Bytes good = read_bytes(file(name));
    write_bytes(file(name), bytes);
    expect_error<InputError>([&] { load(); }, {"data: " + file(name) + ": ", part});
    write_bytes(file(name), good);
  }
  TempDir dir_;
};

/// Sample `sample` of `data` is record `record` of the file with this seed.
void expect_record(const InMemoryDataset& data, std::int64_t sample, std::uint32_t seed, std::size_t record) {
  const Bytes records = cifar10_records(kCount, seed);
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(records[3073 * record + i]); };
  const auto [inputs, targets] = read_samples(data, {sample});
  EXPECT_EQ(targets.item(), at(0));
  ASSERT_EQ(inputs.shape(), (Shape{1, 32, 32, 3}));
  for (std::size_t c = 0; c < 3; ++c)
    for (std::size_t i = 0; i < 1024; ++i)
      ASSERT_EQ(inputs.data<float>()[3 * i + c], static_cast<float>(at(1 + 1024 * c + i)) / 255.0f);
}

void expect_small_set(const Cifar10& cifar) {
  EXPECT_EQ(cifar.train.size(), 5 * kCount);
  EXPECT_EQ(cifar.test.size(), kCount);
  EXPECT_EQ(cifar.train.input_shape(), (Shape{32, 32, 3}));
  EXPECT_EQ(cifar.train.target_shape(), Shape{});
  EXPECT_EQ(cifar.train.class_names().at(3), "cat");
  EXPECT_EQ(cifar.test.class_names().at(9), "truck");
  expect_record(cifar.train, 0, 1, 0);
  expect_record(cifar.train, 3 * kCount + 7, 4, 7);
  expect_record(cifar.train, 5 * kCount - 1, 5, kCount - 1);
  expect_record(cifar.test, 11, 6, 11);
}

TEST_F(Cifar10Files, AreFoundInTheDirectoryOrBelowIt) {
  expect_small_set(load());
  EXPECT_EQ(load().source, root());
  for (const char* place : {"cifar-10-batches-bin", "cifar10", "cifar10/cifar-10-batches-bin"}) {
    const TempDir other;
    make_cifar10(other / place, {.images_per_file = kCount});
    const Cifar10 cifar = load_cifar10({.directory = other.path()});
    expect_small_set(cifar);
    EXPECT_EQ(cifar.source, other / place);
  }
  const SetEnv data("RONDE_DATA", root().c_str());
  EXPECT_TRUE(has_cifar10());
  expect_small_set(load_cifar10());
}

/// Reads both parts as open_cifar10 gives them, and compares them with load_cifar10's.
void expect_same_on_disk(const std::string& directory) {
  const Cifar10 loaded = load_cifar10({.directory = directory});
  const Cifar10OnDisk open = open_cifar10({.directory = directory});
  EXPECT_EQ(open.description(), loaded.description());
  const auto expect_same = [](const Dataset& a, const Dataset& b) {
    ASSERT_EQ(a.size(), b.size());
    EXPECT_EQ(a.class_names(), b.class_names());
    std::vector<std::int64_t> samples;
    for (std::int64_t sample = a.size(); sample-- > 0;) samples.push_back(sample);
    for (const DType dtype : {DType::f32, DType::f64}) {
      const auto [inputs, targets] = read_samples(a, samples, dtype);
      const auto [others, labels] = read_samples(b, samples, dtype);
      EXPECT_EQ(inputs.to_vector<double>(), others.to_vector<double>());
      EXPECT_EQ(targets.to_vector<std::int32_t>(), labels.to_vector<std::int32_t>());
    }
  };
  expect_same(*open.train, loaded.train);
  expect_same(*open.test, loaded.test);
  ASSERT_NE(open.train->in_memory(), nullptr);  // what a GPU takes
  expect_same(*open.train->in_memory(), loaded.train);
}

TEST_F(Cifar10Files, CanStayOnDisk) {
  expect_same_on_disk(root());
  const Cifar10OnDisk open = open_cifar10({.directory = root()});
  EXPECT_THROW(read_samples(*open.test, {kCount}), Error);
  fs::resize_file(file("test_batch.bin"), 3073 * 11);
  read_samples(*open.test, {10});
  expect_error<InputError>([&] { read_samples(*open.test, {11}); },
                           {file("test_batch.bin"), "became shorter while it was read"});
}

TEST_F(Cifar10Files, ThatStayOnDiskAreCheckedAtOnce) {
  Bytes wrong = read_bytes(file("data_batch_3.bin"));
  wrong[3073 * 7] = 10;
  write_bytes(file("data_batch_3.bin"), wrong);
  expect_error<InputError>([&] { open_cifar10({.directory = root()}); },
                           {file("data_batch_3.bin"), "label 10 of image 7, expected 0 to 9"});
}

TEST_F(Cifar10Files, BringTheNamesOfTheirClasses) {
  write_bytes(file("batches.meta.txt"), "a\nb\r\nc\nd\ne\nf\ng\nh\ni\nj j\n\n");
  EXPECT_EQ(load().test.class_names(),
            (std::vector<std::string>{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j j"}));
  expect_damaged("batches.meta.txt", "a\nb\nc", "holds 3 names of classes, expected 10");
}

TEST_F(Cifar10Files, OfUnknownContentAreSaidToBe) {
  EXPECT_EQ(load().name, "");
  EXPECT_EQ(load().description(), "unknown data in CIFAR-10's form, 60 + 12 images from " + root() +
                                      " (its SHA-256 is not that of the published files)");
}

TEST_F(Cifar10Files, ThatAreMissingAreNamedWithWhatToDo) {
  const std::string none = dir_ / "none";
  expect_error<IoError>(
      [&] { load_cifar10({.directory = none}); },
      {"data: no CIFAR-10 in " + none + ", " + none + "/cifar-10-batches-bin", "--download",
       "cifar-10-binary.tar.gz", "https://www.cs.toronto.edu/~kriz/cifar.html", "--data-dir", "RONDE_DATA"});
  EXPECT_FALSE(has_cifar10({.directory = none}));
  fs::remove(file("data_batch_4.bin"));
  expect_error<IoError>([&] { load(); }, {"; in " + root() + " is missing: data_batch_4.bin;"});
  EXPECT_FALSE(has_cifar10({.directory = root()}));
}

TEST_F(Cifar10Files, ThatAreDamagedAreNamed) {
  const Bytes good = cifar10_records(kCount, 3);
  expect_damaged("data_batch_3.bin", good.substr(0, good.size() - 1),
                 "holds 36,875 bytes, expected images of 3,073 bytes each, usually 30,730,000");
  expect_damaged("data_batch_3.bin", "", "holds 0 bytes");
  expect_damaged("data_batch_3.bin", good.substr(0, 3073 * 11),
                 "holds 11 images, expected 12 as in the others");
  Bytes wrong = good;
  wrong[3073 * 7] = 10;
  expect_damaged("data_batch_3.bin", wrong, "label 10 of image 7, expected 0 to 9");
  expect_damaged("test_batch.bin", wrong, "label 10 of image 7, expected 0 to 9");
  expect_small_set(load());
}

class Cifar10Archive : public ::testing::Test {
 protected:
  std::string path() const { return dir_ / "cifar-10-binary.tar.gz"; }
  /// In another order than the files' numbers, among files that do not matter, as in the published archive.
  static std::vector<TarMember> members() {
    std::vector<TarMember> all{{"cifar-10-batches-bin/", ""}};
    for (const std::size_t i : {3, 0, 5, 2, 4, 1})
      all.push_back({"cifar-10-batches-bin/" + cifar10_files()[i],
                     cifar10_records(kCount, static_cast<std::uint32_t>(i) + 1)});
    all.push_back({"cifar-10-batches-bin/readme.html", "<html>"});
    return all;
  }
  void expect_damaged(const Bytes& bytes, const std::string& part) {
    write_bytes(path(), bytes);
    expect_error<InputError>([&] { load_cifar10({.directory = dir_.path()}); },
                             {"data: " + path() + ": ", part});
  }
  TempDir dir_;
};

TEST_F(Cifar10Archive, IsReadAsItIs) {
  write_bytes(path(), gzip(tar(members())));
  const Cifar10 cifar = load_cifar10({.directory = dir_.path()});
  expect_small_set(cifar);
  EXPECT_EQ(cifar.source, path());
  expect_small_set(load_cifar10({.directory = path()}));
  write_bytes(dir_ / "plain.tar", tar(members()));
  expect_small_set(load_cifar10({.directory = dir_ / "plain.tar"}));
  expect_same_on_disk(path());
}

TEST_F(Cifar10Archive, ThatIsDamagedIsNamed) {
  const Bytes good = tar(members()), packed = gzip(good);
  expect_damaged(packed.substr(0, packed.size() / 2), "truncated");
  expect_damaged(packed.substr(0, packed.size() - 4), "truncated");
  expect_damaged(gzip(good.substr(0, good.size() - 1024)), "truncated");
  Bytes flipped = packed;
  flipped[packed.size() / 2] = static_cast<char>(flipped[packed.size() / 2] ^ 0x10);
  expect_damaged(flipped, "");
  expect_damaged(gzip(Bytes(4096, 'x')), "not a tar archive");
  expect_damaged("<html>404</html>", "truncated");

  Bytes header = good;
  header[512] = 'X';  // the name of the first file
  expect_damaged(gzip(header), "the checksum of a header is wrong");
}

TEST_F(Cifar10Archive, ThatIsIncompleteIsNamed) {
  auto some = members();
  some.erase(some.begin() + 2);
  expect_damaged(gzip(tar(some)), "holds no data_batch_1.bin");
  auto twice = members();
  twice.push_back(twice[1]);
  expect_damaged(gzip(tar(twice)), "data_batch_4.bin: is there twice");
  auto shorter = members();
  shorter[4].second.resize(3073 * 11);
  expect_damaged(gzip(tar(shorter)), "data_batch_3.bin: holds 11 images, expected 12 as in the others");
  shorter[4].second.resize(100);
  expect_damaged(gzip(tar(shorter)), "data_batch_3.bin: holds 100 bytes");
}

}  // namespace
}  // namespace ronde
