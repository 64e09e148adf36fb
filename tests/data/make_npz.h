/// Makes .npy arrays and .npz archives byte by byte, as NumPy writes them, whole and damaged.
#pragma once

#include <zlib.h>

#include <string>
#include <vector>

#include "support/make_idx.h"

namespace ronde::test {

inline Bytes little_endian(std::uint64_t value, int bytes) {
  Bytes out;
  for (int i = 0; i < bytes; ++i) out += i < 8 ? static_cast<char>(value >> (8 * i)) : '\0';
  return out;
}

/// A version 1 array; `header` is the Python dictionary.
inline Bytes npy(const std::string& header, const Bytes& elements) {
  return Bytes("\x93NUMPY\x01\x00", 8) + little_endian(header.size() + 1, 2) + header + "\n" + elements;
}
inline Bytes npy(const std::string& type, const std::string& shape, const Bytes& elements) {
  return npy("{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }", elements);
}

struct NpzMember {
  std::string name;
  Bytes content;
  bool deflate = false;
};

inline Bytes npz(const std::vector<NpzMember>& members) {
  Bytes archive, directory;
  for (const NpzMember& member : members) {
    const Bytes packed = member.deflate ? deflated(member.content) : member.content;
    const auto crc = crc32(0, reinterpret_cast<const Bytef*>(member.content.data()),
                           static_cast<uInt>(member.content.size()));
    const Bytes common =
        little_endian(member.deflate ? 8 : 0, 2) + little_endian(0, 4) + little_endian(crc, 4);
    const Bytes sizes = little_endian(packed.size(), 4) + little_endian(member.content.size(), 4);
    const auto offset = archive.size();
    // As numpy.savez does: a ZIP64 field in the local header, which is no guide to the sizes.
    archive += "PK\x03\x04" + little_endian(45, 2) + little_endian(0, 2) + common + little_endian(~0ull, 8) +
               little_endian(member.name.size(), 2) + little_endian(20, 2) + member.name +
               Bytes("\x01\x00\x10\x00", 4) + little_endian(member.content.size(), 8) +
               little_endian(packed.size(), 8) + packed;
    directory += "PK\x01\x02" + little_endian(45, 2) + little_endian(45, 2) + little_endian(0, 2) + common +
                 sizes + little_endian(member.name.size(), 2) + little_endian(0, 12) +
                 little_endian(offset, 4) + member.name;
  }
  const auto count = little_endian(members.size(), 2);
  return archive + directory + "PK\x05\x06" + little_endian(0, 4) + count + count +
         little_endian(directory.size(), 4) + little_endian(archive.size(), 4) + little_endian(0, 2);
}

}  // namespace ronde::test
