/// Makes data files in CIFAR-10's form. A test that uses it links ZLIB::ZLIB.
///
///     TempDir dir;
///     make_cifar10(dir.path(), {.images_per_file = 40});    // six .bin files that a net can learn
#pragma once

#include <cstdio>
#include <filesystem>
#include <utility>
#include <vector>

#include "support/make_idx.h"

namespace ronde::test {

inline const std::vector<std::string>& cifar10_files() {
  static const std::vector<std::string> names{"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                                              "data_batch_4.bin", "data_batch_5.bin", "test_batch.bin"};
  return names;
}

/// `count` records of classes 0, 1, ... 9, 0, ...: class c has bright rows 2c + 6 and 2c + 7 in plane c mod 3
/// over noise.
inline Bytes cifar10_records(std::uint32_t count, std::uint32_t noise_seed) {
  Bytes bytes;
  std::uint32_t noise = noise_seed * 2654435761u + 1;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t label = i % 10;
    bytes += static_cast<char>(label);
    for (std::uint32_t plane = 0; plane < 3; ++plane)
      for (std::uint32_t pixel = 0; pixel < 1024; ++pixel) {
        noise = noise * 1664525u + 1013904223u;
        const bool bright = plane == label % 3 && pixel / 64 == label + 3;
        bytes += static_cast<char>((bright ? 170 : 0) + (noise >> 24) / 4);
      }
  }
  return bytes;
}

struct Cifar10Sizes {
  std::uint32_t images_per_file = 40;
};

/// Writes data_batch_1.bin to data_batch_5.bin and test_batch.bin.
inline void make_cifar10(const std::string& directory, Cifar10Sizes sizes = {}) {
  std::filesystem::create_directories(directory);
  std::uint32_t seed = 1;
  for (const std::string& name : cifar10_files())
    write_bytes(directory + "/" + name, cifar10_records(sizes.images_per_file, seed++));
}

/// A member of a tar archive: name and bytes. A name that ends in '/' makes a directory.
using TarMember = std::pair<std::string, Bytes>;

inline Bytes tar_member(const TarMember& member) {
  const auto& [name, bytes] = member;
  Bytes header(512, '\0');
  const auto put = [&](std::size_t at, const Bytes& text) { header.replace(at, text.size(), text); };
  const auto octal = [](unsigned long value, int digits) {
    char text[24];
    std::snprintf(text, sizeof text, "%0*lo", digits, value);
    return Bytes(text);
  };
  put(0, name);
  put(100, "0000644");
  put(108, "0000000");
  put(116, "0000000");
  put(124, octal(bytes.size(), 11));
  put(136, "00000000000");
  put(148, "        ");
  put(156, name.ends_with('/') ? "5" : "0");
  put(257, Bytes("ustar\0"
                 "00",
                 8));
  unsigned long sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  put(148, octal(sum, 6) + Bytes("\0 ", 2));
  return header + bytes + Bytes((512 - bytes.size() % 512) % 512, '\0');
}

inline Bytes tar(const std::vector<TarMember>& members) {
  Bytes archive;
  for (const TarMember& member : members) archive += tar_member(member);
  return archive + Bytes(1024, '\0');
}

}  // namespace ronde::test
