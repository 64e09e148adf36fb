#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>

#include <ronde/core/error.h>
#include <ronde/data/idx.h>

#include "data/testing.h"
#include "support/make_idx.h"
#include "support/temp_dir.h"

namespace ronde {
namespace {

using namespace test;

class Idx : public ::testing::Test {
 protected:
  /// Reads a file of these bytes.
  Tensor read(const Bytes& bytes, std::uint64_t max_bytes = 1 << 20) {
    write_bytes(dir_ / "file", bytes);
    return read_idx(dir_ / "file", max_bytes);
  }
  void expect_damaged(const Bytes& bytes, const std::string& part, std::uint64_t max_bytes = 1 << 20) {
    expect_error<InputError>([&] { read(bytes, max_bytes); }, {"data: " + dir_ / "file" + ": ", part});
  }
  TempDir dir_;
};

const Bytes kElements("\x01\x02\x03\x04\xff\x00", 6);

TEST_F(Idx, ReadsBytesPlainAndCompressed) {
  for (const Bytes& file : {idx({2, 3}, kElements), gzip(idx({2, 3}, kElements))}) {
    const Tensor array = read(file);
    EXPECT_EQ(array.dtype(), DType::u8);
    EXPECT_EQ(array.shape(), (Shape{2, 3}));
    EXPECT_EQ(array.to_vector<int>(), (std::vector<int>{1, 2, 3, 4, 255, 0}));
  }
}

TEST_F(Idx, ReadsManyPieces) {
  const Bytes pixels = digit_images(1000, 7);
  for (const Bytes& file : {idx({1000, 28, 28}, pixels), gzip(idx({1000, 28, 28}, pixels))}) {
    const Tensor array = read(file);
    ASSERT_EQ(array.byte_size(), pixels.size());
    EXPECT_EQ(std::memcmp(array.raw(), pixels.data(), pixels.size()), 0);
  }
}

// As `cat a.gz b.gz` makes it; one of more than a buffer, so that a member begins anywhere in it.
TEST_F(Idx, ReadsGzipOfSeveralMembers) {
  std::string noise;
  for (std::uint64_t i = 0, x = 1; i < 300 * 784; ++i)
    noise += static_cast<char>((x *= 6364136223846793005u) >> 56);
  const Bytes file = idx({300, 28, 28}, noise);
  for (const std::size_t cut : {std::size_t{0}, std::size_t{10}, std::size_t{65500}, file.size()}) {
    const Tensor array = read(gzip(file.substr(0, cut)) + gzip("") + gzip(file.substr(cut)));
    EXPECT_EQ(std::memcmp(array.raw(), noise.data(), noise.size()), 0) << cut;
  }
}

TEST_F(Idx, ReadsBigEndianNumbers) {
  EXPECT_EQ(read(idx({2}, big_endian(7) + big_endian(0xfffffffe), 0x0c)).to_vector<int>(),
            (std::vector<int>{7, -2}));
  EXPECT_EQ(read(idx({1}, big_endian(0x3fc00000), 0x0d)).to_vector<float>(), std::vector<float>{1.5f});
  EXPECT_EQ(read(idx({1}, big_endian(0xbff80000) + big_endian(0), 0x0e)).to_vector<double>(),
            std::vector<double>{-1.5});
}

TEST_F(Idx, ReadsAnEmptyArray) {
  EXPECT_EQ(read(idx({0, 28}, "")).shape(), (Shape{0, 28}));
  EXPECT_EQ(read(gzip(idx({0, 28}, ""))).shape(), (Shape{0, 28}));
}

TEST_F(Idx, RejectsWrongHeaders) {
  expect_damaged("", "truncated");
  expect_damaged(Bytes("\0\0\x08", 3), "truncated");
  expect_damaged("hello, world", "not an IDX file");
  expect_damaged(gzip("hello, world"), "not an IDX file");
  expect_damaged(idx({6}, kElements, 0x0b), "element type 11");
  expect_damaged(idx({}, ""), "0 dimensions");
  expect_damaged(idx({1, 1, 1, 1, 1, 1, 1, 1, 1}, "x"), "9 dimensions");
  expect_damaged(idx({2, 3}, kElements).substr(0, 9), "truncated");
}

TEST_F(Idx, RejectsAnyOtherLength) {
  const Bytes file = idx({2, 3}, kElements);
  expect_damaged(file.substr(0, file.size() - 1), "holds 5 bytes of elements, expected 6 for u8 (2, 3)");
  expect_damaged(file + "x", "holds 7 bytes of elements, expected 6 for u8 (2, 3)");
  expect_damaged(gzip(file.substr(0, file.size() - 1)), "truncated");
  expect_damaged(gzip(file + "x"), "holds more than");
}

TEST_F(Idx, RejectsSizesBeforeAllocatingThem) {
  const std::uint32_t huge = 0xffffffffu;
  expect_damaged(idx({huge, huge, huge, huge}, kElements), "larger than");
  expect_damaged(gzip(idx({huge, huge}, kElements)), "larger than");
  expect_damaged(idx({2, 3}, kElements), "larger than the 5 bytes allowed", 5);
  // Below the limit, but no gzip file of this size can hold it.
  expect_damaged(gzip(idx({500000}, kElements)), "too small to hold the 500,000 bytes");
}

TEST_F(Idx, RejectsDamagedGzip) {
  const Bytes pixels = digit_images(200, 3);
  const Bytes good = gzip(idx({200, 28, 28}, pixels));
  ASSERT_EQ(read(good).size(0), 200);
  expect_damaged(good.substr(0, good.size() / 2), "truncated");
  expect_damaged(good.substr(0, good.size() - 1), "truncated");
  expect_damaged(good + "x", "1 byte behind the end");
  expect_damaged(good + gzip("more"), "holds more than");
  expect_damaged(good + "\x1f", "truncated");
  expect_damaged(good + "\x1fxxxxxxxxxxxx", "damaged compressed data");
  expect_damaged(good.substr(0, good.size() - 1) + "x" + good, "damaged");
  Bytes checksum = good, length = good, content = good;
  checksum[good.size() - 6] = static_cast<char>(checksum[good.size() - 6] ^ 1);
  length[good.size() - 1] = static_cast<char>(length[good.size() - 1] ^ 1);
  content[good.size() / 2] = static_cast<char>(content[good.size() / 2] ^ 0x10);
  expect_damaged(checksum, "damaged");
  expect_damaged(length, "damaged");
  EXPECT_THROW(read(content), InputError);
  expect_damaged(good.substr(0, 2), "truncated");
}

// Whatever byte is changed, the file is rejected or the same array comes out (a gzip header has bytes that
// mean nothing).
TEST_F(Idx, NoChangedByteGoesUnnoticed) {
  const Bytes elements = digit_labels(40);
  const Bytes good = gzip(idx({40}, elements));
  for (std::size_t at = 0; at < good.size(); ++at) {
    Bytes bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x41);
    try {
      const Tensor array = read(bad);
      EXPECT_EQ(Bytes(static_cast<const char*>(array.raw()), array.byte_size()), elements) << "byte " << at;
    } catch (const InputError&) {
    }
  }
}

TEST_F(Idx, SaysWhatTheSystemSays) {
  expect_error<IoError>([&] { read_idx(dir_ / "absent"); }, {"data: " + dir_ / "absent", "No such file"});
  std::filesystem::create_directory(dir_ / "folder");
  expect_error<InputError>([&] { read_idx(dir_ / "folder"); }, {"not a regular file"});
  ASSERT_EQ(mkfifo((dir_ / "pipe").c_str(), 0600), 0);
  expect_error<InputError>([&] { read_idx(dir_ / "pipe"); }, {"not a regular file"});
}

}  // namespace
}  // namespace ronde
