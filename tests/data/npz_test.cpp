#include <gtest/gtest.h>

#include <ronde/core/error.h>
#include <ronde/data/npz.h>

#include "data/make_npz.h"
#include "data/testing.h"
#include "support/temp_dir.h"

namespace ronde {
namespace {

using namespace test;

class Npz : public ::testing::Test {
 protected:
  std::map<std::string, Tensor> read(const Bytes& bytes, std::uint64_t max_bytes = 1 << 20) {
    write_bytes(dir_ / "file.npz", bytes);
    return read_npz(dir_ / "file.npz", max_bytes);
  }
  Tensor read_array(const Bytes& bytes) {
    write_bytes(dir_ / "file.npy", bytes);
    return read_npy(dir_ / "file.npy", 1 << 20);
  }
  void expect_damaged(const Bytes& bytes, const std::string& part, std::uint64_t max_bytes = 1 << 20) {
    expect_error<InputError>([&] { read(bytes, max_bytes); }, {"data: " + dir_ / "file.npz" + ": ", part});
  }
  void expect_damaged_array(const Bytes& bytes, const std::string& part) {
    expect_error<InputError>([&] { read_array(bytes); }, {"data: " + dir_ / "file.npy" + ": ", part});
  }
  TempDir dir_;
};

const Bytes kBytes = npy("|u1", "(2, 2)", "\x01\x02\x03\x04");

TEST_F(Npz, ReadsEachElementType) {
  EXPECT_EQ(read_array(kBytes).to_vector<int>(), (std::vector<int>{1, 2, 3, 4}));
  EXPECT_EQ(read_array(kBytes).shape(), (Shape{2, 2}));
  EXPECT_EQ(read_array(npy("<i4", "(1,)", little_endian(0xfffffffe, 4))).to_vector<int>(),
            std::vector<int>{-2});
  EXPECT_EQ(read_array(npy("<i8", "(1,)", little_endian(1ull << 40, 8))).to_vector<std::int64_t>(),
            std::vector<std::int64_t>{std::int64_t{1} << 40});
  EXPECT_EQ(read_array(npy("<f4", "()", little_endian(0x3fc00000, 4))).item(), 1.5);
  EXPECT_EQ(read_array(npy("<f8", "(1, 1)", little_endian(0xbff8000000000000, 8))).item(), -1.5);
}

TEST_F(Npz, ReadsStoredAndDeflatedMembers) {
  const auto arrays =
      read(npz({{"a.npy", kBytes}, {"b.npy", npy("<i4", "(300,)", Bytes(1200, '\0')), true}}));
  ASSERT_EQ(arrays.size(), 2u);
  EXPECT_EQ(arrays.at("a").to_vector<int>(), (std::vector<int>{1, 2, 3, 4}));
  EXPECT_EQ(arrays.at("b").to_vector<int>(), std::vector<int>(300, 0));
  EXPECT_TRUE(read(npz({})).empty());
}

TEST_F(Npz, RejectsArraysItCannotRead) {
  expect_damaged_array("", "truncated");
  expect_damaged_array("not numpy's", "not a .npy array");
  expect_damaged_array(npy("<f2", "(1,)", "ab"), "elements of type <f2");
  expect_damaged_array(npy(">i4", "(1,)", "abcd"), "elements of type >i4");
  expect_damaged_array(npy("\n\x1b", "(1,)", "abcd"), "elements of type ??,");
  expect_damaged_array(npy("{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (1,), }", "abcd"),
                       "a record");
  expect_damaged_array(npy("{'descr': '|u1', 'fortran_order': True, 'shape': (1,), }", "a"), "Fortran order");
  expect_damaged_array(npy("{'descr': '|u1', 'shape': (1,), }", "a"),
                       "expected descr, fortran_order and shape");
  expect_damaged_array(npy("{'descr': '|u1', 'descr': '|u1', 'fortran_order': False, 'shape': (1,)}", "a"),
                       "twice");
  expect_damaged_array(npy("{'descr': '|u1', 'colour': 'red'}", "a"), "unknown");
  expect_damaged_array(npy("{'descr': '|u1', 'fortran_order': False, 'shape': (1,)} + 1", "a"), "behind }");
  expect_damaged_array(npy("{'descr': '|u1', 'fortran_order': False 'shape': (1,)}", "a"), "expected , or }");
  expect_damaged_array(npy("{'descr: 1", "a"), "a string without end");
  expect_damaged_array(npy("|u1", "(-1,)", "a"), "expected an extent");
  expect_damaged_array(npy("|u1", "(99999999999999999999,)", "a"), "expected an extent");
  expect_damaged_array(npy("|u1", "(1, 1, 1, 1, 1, 1, 1, 1, 1)", "a"), "more than 8 dimensions");
  expect_damaged_array(npy("|u1", "(9223372036854775807, 3)", "a"), "larger than");
  expect_damaged_array(npy("|u1", "(0, 4611686018427387904, 8)", ""), "larger than");
  expect_damaged_array(npy("|u1", "(5,)", "abcd"), "holds 4 bytes of elements, expected 5");
  expect_damaged_array(npy("|u1", "(3,)", "abcd"), "holds 4 bytes of elements, expected 3");
  expect_damaged_array(kBytes.substr(0, 30), "truncated");
}

TEST_F(Npz, RejectsDamagedArchives) {
  const Bytes good = npz({{"a.npy", kBytes, true}});
  expect_damaged("", "not a zip archive");
  expect_damaged("PK and some text that is no zip archive", "not a zip archive");
  expect_damaged(good.substr(0, good.size() - 1), "truncated");
  expect_damaged(good + "x", "truncated");
  expect_damaged(good.substr(1), "directory is not where");
  expect_damaged("x" + good, "directory is not where");
  expect_damaged(npz({{"a.npy", kBytes}, {"a.npy", kBytes}}), "a.npy comes twice");
  expect_damaged(npz({{"a.npy", kBytes}, {"b.npy", kBytes}}), "b.npy: u8 (2, 2) is larger than the 3 bytes",
                 7);
  expect_damaged(npz({{"a\n.npy", kBytes}}), "odd name: a?.npy");
  expect_damaged(npz({{"a.txt", kBytes}}), "a.txt is not a .npy array");
  expect_damaged(npz({{"a.npy", kBytes}}), "a.npy: u8 (2, 2) is larger than the 3 bytes allowed", 3);
}

/// The archive with one field of its only directory entry changed.
Bytes with_field(std::size_t at, std::uint64_t value, int bytes) {
  Bytes archive = npz({{"a.npy", kBytes, true}});
  const std::size_t entry = archive.find("PK\x01\x02");
  return archive.replace(entry + at, static_cast<std::size_t>(bytes), little_endian(value, bytes));
}

TEST_F(Npz, RejectsWrongDirectoryFields) {
  expect_damaged(with_field(8, 1, 2), "encrypted");
  expect_damaged(with_field(10, 12, 2), "method 12");
  expect_damaged(with_field(10, 0, 2), "two sizes");
  expect_damaged(with_field(16, 0, 4), "a.npy: damaged: its CRC-32 is wrong");
  expect_damaged(with_field(20, 1 << 20, 4), "reaches out");
  expect_damaged(with_field(20, 3, 4), "truncated");
  expect_damaged(with_field(20, 0xffffffff, 4), "4 GiB");
  expect_damaged(with_field(24, kBytes.size() + 1, 4),
                 "a.npy: holds 5 bytes of elements, expected 4 for u8 (2, 2)");
  expect_damaged(with_field(24, 3, 4), "holds more content");
  expect_damaged(with_field(28, 4, 2), "directory");
  expect_damaged(with_field(42, 5, 4), "not where its directory says");
  expect_damaged(with_field(42, 0xfffffff0, 4), "reaches out");
}

TEST_F(Npz, NoChangedByteGoesUnnoticed) {
  const Bytes good = npz({{"a.npy", kBytes, true}, {"b.npy", kBytes}});
  for (std::size_t at = 0; at < good.size(); ++at) {
    Bytes bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x41);
    try {
      for (const auto& [name, array] : read(bad))
        EXPECT_EQ(array.to_vector<int>(), (std::vector<int>{1, 2, 3, 4})) << "byte " << at;
    } catch (const InputError&) {
    }
  }
}

}  // namespace
}  // namespace ronde
