// Writing of zip archives and NumPy's files, and reading of archives in memory.
#include <gtest/gtest.h>

#include <ronde/data/npz.h>
#include <ronde/data/zip.h>

#include "data/make_npz.h"
#include "data/testing.h"
#include "support/message_of.h"

namespace ronde {
namespace {

using namespace test;

TEST(Zip, WritesTheBytesOfTheSpecification) {
  // CRC-32 of "123456789" is cbf43926; 1980-01-01 is day 0x0021.
  const Bytes fields = Bytes("\x14\x00\x00\x08\x00\x00\x00\x00\x21\x00\x26\x39\xf4\xcb", 14) +
                       little_endian(9, 4) + little_endian(9, 4) + little_endian(5, 2) + little_endian(0, 2);
  const Bytes local = "PK\x03\x04" + fields + "a.txt123456789";
  const Bytes entry = Bytes("PK\x01\x02\x14\x00", 6) + fields + little_endian(0, 14) + "a.txt";
  const Bytes end = "PK\x05\x06" + little_endian(0, 4) + little_endian(1, 2) + little_endian(1, 2) +
                    little_endian(entry.size(), 4) + little_endian(local.size(), 4) + little_endian(0, 2);
  EXPECT_EQ(encode_zip({{"a.txt", "123456789"}}), local + entry + end);
}

TEST(Zip, ReadsWhatItWrites) {
  const std::vector<ZipEntry> entries{{"a", "first"}, {"b/c.json", std::string(1000, 'x')}, {"empty", ""}};
  const std::vector<ZipEntry> read = decode_zip(encode_zip(entries), "x.zip");
  ASSERT_EQ(read.size(), entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    EXPECT_EQ(read[i].name, entries[i].name);
    EXPECT_EQ(read[i].bytes, entries[i].bytes);
  }
}

TEST(Zip, NamesAreOfAnyLengthButHaveNoControlCharacters) {
  const std::string longest(65535, 'n');
  EXPECT_EQ(decode_zip(encode_zip({{longest, "x"}}), "x.zip").at(0).name, longest);
  EXPECT_THROW(encode_zip({{longest + "n", "x"}}), Error);
  EXPECT_EQ(message_of<Error>([] {
              encode_zip({{"a\nb", "x"}});
            }),
            "[zip] member a?b has a control character in its name, which no reader takes");
}

// Nets have more arrays than one thinks, and what is written must be read.
TEST(Zip, MayHaveAsManyMembersAsItCanCount) {
  std::vector<ZipEntry> entries;
  for (int i = 0; i < 65535; ++i) entries.push_back({std::to_string(i), i % 2 == 0 ? "" : "x"});
  const std::vector<ZipEntry> read = decode_zip(encode_zip(entries), "x.zip");
  ASSERT_EQ(read.size(), entries.size());
  EXPECT_EQ(read.back().name, "65534");
  entries.push_back({"one more", ""});
  EXPECT_THROW(encode_zip(entries), Error);
}

TEST(Zip, AMemberIsHandedOnAsItIs) {
  const std::string bytes(1000, 'x');
  std::string written;
  int whole = 0;
  write_zip({{"a", bytes}, {"b", "second"}}, [&](std::string_view piece) {
    whole += piece.data() == bytes.data() && piece.size() == bytes.size();
    written += piece;
  });
  EXPECT_EQ(whole, 1);
  EXPECT_EQ(written, encode_zip({{"a", bytes}, {"b", "second"}}));
}

TEST(Zip, ReadsDeflatedMembers) {
  const auto read = decode_zip(npz({{"x", Bytes(5000, 'y'), true}}), "x.zip");
  ASSERT_EQ(read.size(), 1u);
  EXPECT_EQ(read[0].bytes, Bytes(5000, 'y'));
}

TEST(Zip, RefusesEveryCutAndEveryChangedByteThatMatters) {
  const std::string archive = encode_zip({{"a", "first member"}, {"b", "second member"}});
  for (std::size_t length = 0; length < archive.size(); ++length)
    EXPECT_THROW(decode_zip(std::string_view(archive).substr(0, length), "x.zip"), InputError) << length;
  for (std::size_t at = 0; at < archive.size(); ++at) {
    std::string damaged = archive;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    try {
      const auto read = decode_zip(damaged, "x.zip");
      ASSERT_EQ(read.size(), 2u) << at;  // a date or a version: not the content
      EXPECT_EQ(read[0].bytes, "first member") << at;
      EXPECT_EQ(read[1].bytes, "second member") << at;
    } catch (const InputError& error) {
      EXPECT_EQ(std::string(error.what()).find("data: x.zip: "), 0u) << error.what();
    }
  }
}

TEST(Zip, TakesNoMoreMemoryThanAllowed) {
  const std::string archive = encode_zip({{"a", std::string(600, 'x')}, {"b", std::string(600, 'x')}});
  EXPECT_NO_THROW(decode_zip(archive, "x.zip", 1200));
  expect_error<InputError>([&] { decode_zip(archive, "x.zip", 1199); },
                           {"x.zip: b: larger than the 599 bytes"});
}

TEST(Zip, RefusesNamesThatComeTwice) {
  expect_error<Error>([] { encode_zip({{"a", ""}, {"a", ""}}); }, {"member a comes twice"});
}

TEST(Npy, WritesWhatNumPyWrites) {
  // np.save of np.array([[1, 2]], "<i4") and np.array([0.5], "<f4"), np.array(3.0).
  const auto header = [](const std::string& text) {
    return Bytes("\x93NUMPY\x01\x00\x76\x00", 10) + text + Bytes(117 - text.size(), ' ') + "\n";
  };
  EXPECT_EQ(encode_npy(host<std::int32_t>({1, 2}, {1, 2})),
            header("{'descr': '<i4', 'fortran_order': False, 'shape': (1, 2), }") + little_endian(1, 4) +
                little_endian(2, 4));
  const Bytes one = encode_npy(host<float>({1}, {0.5f}));
  EXPECT_NE(one.find("'shape': (1,), }"), Bytes::npos);
  EXPECT_EQ(one.substr(one.size() - 4), Bytes("\x00\x00\x00\x3f", 4));
  EXPECT_EQ((one.size() - 4) % 64, 0u);
  EXPECT_NE(encode_npy(Tensor::full({}, 3.0, {.dtype = DType::f64})).find("'shape': (), }"), Bytes::npos);
}

TEST(NpzWriting, ReadsWhatItWrites) {
  const std::map<std::string, Tensor> arrays{{"a/kernel", host<float>({2, 3}, {1, 2, 3, 4, 5, 6})},
                                             {"bytes", host<std::uint8_t>({2}, {7, 255})},
                                             {"count", host<std::int64_t>({}, {-5})},
                                             {"wide", host<double>({1, 1}, {0.1})}};
  const auto read = decode_npz(encode_npz(arrays), "x.npz");
  ASSERT_EQ(read.size(), arrays.size());
  for (const auto& [name, array] : arrays) {
    EXPECT_EQ(read.at(name).shape(), array.shape()) << name;
    EXPECT_EQ(read.at(name).dtype(), array.dtype()) << name;
    EXPECT_EQ(read.at(name).to_vector<double>(), array.to_vector<double>()) << name;
  }
}

TEST(NpzWriting, WritesTheElementsOfViewsInOrder) {
  const Tensor transposed = host<float>({2, 2}, {1, 2, 3, 4}).permute({1, 0});
  const auto read = decode_npz(encode_npz({{"x", transposed}}), "x.npz");
  EXPECT_EQ(read.at("x").to_vector<float>(), (std::vector<float>{1, 3, 2, 4}));
}

}  // namespace
}  // namespace ronde
