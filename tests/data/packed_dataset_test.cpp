#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <numeric>

#include <ronde/core/error.h>
#include <ronde/core/sha256.h>
#include <ronde/data/in_memory_dataset.h>
#include <ronde/data/packed_dataset.h>

#include "data/testing.h"
#include "support/make_idx.h"
#include "support/temp_dir.h"

namespace ronde {
namespace {

using namespace test;

/// Pictures u8 (n, 3, 5, 1) of noise, labels i mod 10.
InMemoryDataset pictures(std::int64_t n) {
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(n * 15));
  std::uint32_t noise = 3;
  for (std::uint8_t& pixel : pixels)
    pixel = static_cast<std::uint8_t>((noise = noise * 1664525u + 1013904223u) >> 24);
  std::vector<std::int32_t> labels(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::int32_t>(i % 10);
  return {host<std::uint8_t>({n, 3, 5, 1}, pixels),
          host<std::int32_t>({n}, labels),
          {.scale = 1.0 / 255, .class_names = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}}};
}

void expect_equal(const Dataset& actual, const Dataset& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  EXPECT_EQ(actual.input_shape(), expected.input_shape());
  EXPECT_EQ(actual.target_shape(), expected.target_shape());
  EXPECT_EQ(actual.class_names(), expected.class_names());
  std::vector<std::int64_t> order(static_cast<std::size_t>(actual.size()));
  std::iota(order.rbegin(), order.rend(), 0);
  for (const DType dtype : {DType::f32, DType::f64}) {
    const auto [inputs, targets] = read_samples(actual, order, dtype);
    const auto [expected_inputs, expected_targets] = read_samples(expected, order, dtype);
    EXPECT_EQ(targets.dtype(), expected_targets.dtype());
    EXPECT_EQ(inputs.to_vector<double>(), expected_inputs.to_vector<double>());
    EXPECT_EQ(targets.to_vector<double>(), expected_targets.to_vector<double>());
  }
}

class Packed : public ::testing::Test {
 protected:
  std::string path() const { return dir_ / "data.ronde"; }
  void expect_refused(const Bytes& bytes, const std::string& part) const {
    write_bytes(path(), bytes);
    expect_error<InputError>([&] { PackedDataset{path()}; }, {"data: " + path() + ": ", part});
  }
  TempDir dir_;
};

TEST_F(Packed, GivesTheSamplesOfTheDataSet) {
  const InMemoryDataset data = pictures(103);
  for (const std::int64_t block_bytes : {1, 200, 1 << 20})
    for (const int threads : {1, 3}) {
      pack_dataset(data, path(), {.block_bytes = block_bytes, .threads = threads});
      const PackedDataset packed(path());
      EXPECT_EQ(packed.stored_dtype(), DType::u8);
      EXPECT_EQ(packed.scale(), 1.0 / 255);
      EXPECT_EQ(packed.block_size(), block_bytes == 1 ? 1 : block_bytes == 200 ? 10 : 103);
      expect_equal(packed, data);
      packed.verify();
    }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir_.path()), {}), 1);
}

TEST_F(Packed, KeepsFloatsAndValues) {
  const InMemoryDataset floats(host<float>({3, 2}, {0.1f, -2.5f, 1e30f, 4, 5, 6}),
                               host<float>({3, 2}, {1, 2, 3, 4, 5, 0.5f}));
  pack_dataset(floats, path(), {.dtype = DType::f32, .block_bytes = 40});
  expect_equal(PackedDataset(path()), floats);
  const InMemoryDataset doubles(host<double>({2, 1}, {0.1, 1e200}), host<double>({2}, {1.0 / 3, 2}));
  pack_dataset(doubles, path(), {.dtype = DType::f64});
  const PackedDataset packed(path());
  EXPECT_EQ(packed.stored_dtype(), DType::f64);
  EXPECT_EQ(packed.target_dtype(), DType::f64);
  expect_equal(packed, doubles);
}

TEST_F(Packed, RefusesToRoundToBytes) {
  const InMemoryDataset data(host<float>({2, 2}, {0.0f, 1.0f, 0.25f, 0.5f}), host<std::int32_t>({2}, {0, 1}));
  expect_error<UsageError>([&] { pack_dataset(data, path()); },
                           {"[pack_dataset] sample 1 holds 0.25, which is no byte times"});
  EXPECT_FALSE(std::filesystem::exists(path()));
  pack_dataset(data, path(), {.scale = 0.25});
  expect_equal(PackedDataset(path()), data);
}

TEST_F(Packed, TellsHowFarItIs) {
  std::vector<std::int64_t> seen;
  pack_dataset(pictures(25), path(),
               {.block_bytes = 200, .progress = [&](std::int64_t samples, std::int64_t total) {
                  EXPECT_EQ(total, 25);
                  seen.push_back(samples);
                }});
  EXPECT_EQ(seen, (std::vector<std::int64_t>{10, 20, 25}));
}

TEST_F(Packed, ReplacesAFileOnlyWhenItIsWhole) {
  pack_dataset(pictures(10), path());
  const PackedDataset open(path());
  const auto enough = [](std::int64_t, std::int64_t) { throw std::runtime_error("enough"); };
  EXPECT_THROW(pack_dataset(pictures(20), path(), {.progress = enough}), std::runtime_error);
  expect_equal(PackedDataset(path()), pictures(10));
  pack_dataset(pictures(20), path());
  expect_equal(open, pictures(10));
  expect_equal(PackedDataset(path()), pictures(20));
  expect_error<IoError>([&] { pack_dataset(pictures(1), dir_ / "none/x"); },
                        {dir_ / "none/x", "cannot be written"});
}

TEST_F(Packed, IsFoundDamagedWhereItIs) {
  pack_dataset(pictures(30), path(), {.block_bytes = 200});
  const Bytes good = read_bytes(path());
  Bytes bad = good;
  bad[bad.size() - 3 * 256 + 256 + 17] ^= 1;  // blocks of 192 + 64 bytes
  write_bytes(path(), bad);
  const PackedDataset packed(path());
  read_samples(packed, {0, 9, 20, 29});
  expect_error<InputError>([&] { read_samples(packed, {10}); },
                           {"data: " + path() + ": damaged: the CRC-32 of samples 10 to 19 is wrong"});
  EXPECT_THROW(packed.verify(), InputError);

  for (std::size_t at = 0; at < 4096; at += 5) {
    bad = good;
    bad[at] ^= 0x20;
    write_bytes(path(), bad);
    EXPECT_THROW(PackedDataset{path()}, InputError) << "byte " << at;
  }
}

TEST_F(Packed, ThatIsCutOffOrForeignIsRefused) {
  pack_dataset(pictures(30), path(), {.block_bytes = 200});
  const Bytes good = read_bytes(path());
  expect_refused("", "not a packed file");
  expect_refused("text", "not a packed file");
  expect_refused(Bytes(10'000, 'x'), "not a packed file");
  expect_refused(good.substr(0, 1000), "truncated: ends within its header");
  expect_refused(good.substr(0, 4096), "truncated: 4,096 bytes do not hold 3 blocks of 256");
  expect_refused(good.substr(0, good.size() - 1), "truncated");
  expect_refused(good + "x", "holds 4,865 bytes, expected 4,864");
  expect_error<IoError>([&] { PackedDataset(dir_ / "none"); }, {dir_ / "none", "No such file"});
  expect_error<InputError>([&] { PackedDataset(dir_.path()); }, {"not a regular file"});
}

// Memory behind the end of a file is a signal, which says nothing.
TEST_F(Packed, ThatIsCutOffWhileItIsOpenIsAnError) {
  pack_dataset(pictures(30), path(), {.block_bytes = 200});
  const PackedDataset data(path());
  read_samples(data, std::vector<std::int64_t>{0});
  std::filesystem::resize_file(path(), 4096);
  for (const std::int64_t sample : {0, 29})
    expect_error<InputError>([&] { read_samples(data, std::vector<std::int64_t>{sample}); },
                             {"data: " + path() + ": became shorter while it was read"});
}

/// The file with a number at a place of its header, sealed anew.
template <class T>
Bytes forged(Bytes file, std::size_t at, T value) {
  std::memcpy(file.data() + at, &value, sizeof value);
  Bytes header = file.substr(0, 4096);
  header.replace(24, 64, 64, '\0');
  return file.replace(24, 64, sha256_hex(header));
}

// A header that was made to hurt: its seal is right.
TEST_F(Packed, TrustsNoHeader) {
  pack_dataset(pictures(30), path(), {.block_bytes = 200});
  const Bytes good = read_bytes(path());
  write_bytes(path(), forged(good, 4090, std::uint8_t{0}));
  expect_equal(PackedDataset(path()), pictures(30));

  expect_refused(forged(good, 8, std::uint32_t{2}), "version 2, expected 1");
  expect_refused(forged(good, 16, std::uint64_t{1} << 62), "damaged: a header of ");
  expect_refused(forged(good, 16, std::uint64_t{8192}), "truncated: ends within its header");
  for (const std::int64_t size : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1} << 62})
    expect_refused(forged(good, 88, size), "damaged: ");
  for (const std::int64_t size : {std::int64_t{31}, std::int64_t{1} << 40})
    expect_refused(forged(good, 88, size), "");
  for (const std::int64_t block : {std::int64_t{0}, std::int64_t{-5}, std::int64_t{31}})
    expect_refused(forged(good, 96, block), "damaged: 30 samples in blocks of ");
  expect_refused(forged(good, 104, std::uint64_t{0x7ff0000000000000}), "its scale is not finite");
  expect_refused(forged(good, 120, std::uint32_t{0xffffffff}), "reaches beyond its header");
  expect_refused(forged(good, 124, std::uint16_t{0x3869}), "values of type \"i8\"");
  expect_refused(forged(good, 126, std::uint32_t{9}), "samples of 9 dimensions");
  for (const std::int64_t extent : {std::int64_t{0}, std::int64_t{-3}, std::int64_t{1} << 62})
    expect_refused(forged(good, 130, extent), "impossible extents");
  expect_refused(forged(good, 130, std::int64_t{1} << 28), "do not hold a block of 10 samples");
  // All numbers at once, many times.
  std::uint32_t noise = 1;
  for (int round = 0; round < 300; ++round) {
    noise = noise * 1664525u + 1013904223u;
    const std::size_t at = 88 + noise % 120;
    noise = noise * 1664525u + 1013904223u;
    write_bytes(path(), forged(good, at, static_cast<std::uint8_t>(noise >> 24)));
    try {
      PackedDataset(path()).verify();
    } catch (const InputError&) {
    }
  }
}

TEST_F(Packed, TrustsNoLabel) {
  InMemoryDataset data = pictures(30);
  pack_dataset(data, path());
  const Bytes good = read_bytes(path());
  // A label that no class has, with the right CRC-32: of the only block, behind the names.
  Bytes bad = good;
  const std::size_t label = bad.size() - 128 + 4 * 7;
  bad[label] = 10;
  const auto crc = static_cast<std::uint32_t>(
      ::crc32(0, reinterpret_cast<const Bytef*>(bad.data()) + 4096, static_cast<uInt>(bad.size() - 4096)));
  const auto old = static_cast<std::uint32_t>(
      ::crc32(0, reinterpret_cast<const Bytef*>(good.data()) + 4096, static_cast<uInt>(good.size() - 4096)));
  const std::size_t at = good.find(Bytes(reinterpret_cast<const char*>(&old), 4), 88);
  ASSERT_LT(at, 4096u);
  write_bytes(path(), forged(bad, at, crc));
  expect_error<InputError>([&] { read_samples(PackedDataset(path()), {0}); },
                           {"label 10 of sample 7 is none of 10 classes"});
}

}  // namespace
}  // namespace ronde
