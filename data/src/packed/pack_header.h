/// What stands at the beginning of a packed file, and where its blocks lie.
///
///     0   magic (8 bytes), u32 version, u32 0, u64 bytes of the header: a multiple of 4,096
///     24  SHA-256 of the header as 64 hex digits, computed with zeros in their place
///     88  u64 samples, u64 samples of a block, f64 scale, f64 offset, then inputs and targets, each: dtype
///     as
///         text, u32 rank, u64 extents; u32 number of class names, the names; u32 CRC-32 of each block; zeros
///
/// Numbers are little-endian; a text is its u32 length and its bytes. Behind the header lie the blocks, all
/// of the same size: inputs, zeros up to a multiple of 64, targets, zeros up to a multiple of 64. The last
/// block is filled up with zeros, so the size of the file follows from its header.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ronde/core/tensor.h>

#include "files/mapped_file.h"

namespace ronde::inline v0 {

/// In bytes.
struct PackLayout {
  std::uint64_t header = 0;
  std::uint64_t input = 0, target = 0;  ///< of one sample
  std::uint64_t targets_at = 0;         ///< within a block
  std::uint64_t block = 0;
  std::uint64_t blocks = 0;  ///< their number
};

struct PackHeader {
  std::int64_t size = 0;        ///< samples
  std::int64_t block_size = 0;  ///< samples
  double scale = 1, offset = 0;
  DType input_dtype = DType::u8, target_dtype = DType::i32;
  Shape input_shape, target_shape;
  std::vector<std::string> class_names = {};
  std::vector<std::uint32_t> crc32 = {};  ///< of each block
};

/// Where all lies. The number of blocks follows from the sizes, not from `crc32`.
PackLayout layout_of(const PackHeader& header);
std::string encode_header(const PackHeader& header);
/// InputError unless the header is whole, its numbers make sense and the file is as long as they say.
PackHeader read_header(const MappedFile& file);

}  // namespace ronde::inline v0
