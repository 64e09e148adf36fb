/// Makes data files in MNIST's form, whole and damaged ones. A test that uses it links ZLIB::ZLIB.
///
///     TempDir dir;
///     make_mnist(dir.path(), {.train = 256, .test = 64});    // four .gz files that a net can learn
#pragma once

#include <zlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace ronde::test {

using Bytes = std::string;

inline void write_bytes(const std::string& path, const Bytes& bytes) {
  std::filesystem::remove(path);  // truncating in place makes some file systems wait for the disk
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

inline Bytes read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline Bytes big_endian(std::uint32_t value) {
  Bytes bytes;
  for (const unsigned shift : {24u, 16u, 8u, 0u}) bytes += static_cast<char>(value >> shift);
  return bytes;
}

/// An IDX file: header and elements as they are. Type 8 is u8.
inline Bytes idx(const std::vector<std::uint32_t>& extents, const Bytes& elements, char type = 8) {
  Bytes bytes{'\0', '\0', type, static_cast<char>(extents.size())};
  for (const std::uint32_t extent : extents) bytes += big_endian(extent);
  return bytes + elements;
}

/// Compressed by zlib; window_bits 15 + 16 makes gzip, -15 raw deflate.
inline Bytes compressed(const Bytes& bytes, int window_bits) {
  z_stream stream{};
  if (deflateInit2(&stream, 6, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::runtime_error("deflateInit2 failed");
  Bytes out(deflateBound(&stream, static_cast<uLong>(bytes.size())), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int status = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  if (status != Z_STREAM_END) throw std::runtime_error("deflate failed");
  return out;
}

inline Bytes gzip(const Bytes& bytes) {
  return compressed(bytes, 15 + 16);
}
inline Bytes deflated(const Bytes& bytes) {
  return compressed(bytes, -15);
}

/// `count` labels 0, 1, ... 9, 0, ...
inline Bytes digit_labels(std::uint32_t count) {
  Bytes labels;
  for (std::uint32_t i = 0; i < count; ++i) labels += static_cast<char>(i % 10);
  return labels;
}

/// Images for digit_labels: class c has a bright bar in rows 2c+4 and 2c+5 over noise that differs from image
/// to image.
inline Bytes digit_images(std::uint32_t count, std::uint32_t noise_seed) {
  Bytes pixels;
  std::uint32_t noise = noise_seed * 2654435761u + 1;
  for (std::uint32_t i = 0; i < count; ++i)
    for (std::uint32_t row = 0; row < 28; ++row)
      for (std::uint32_t column = 0; column < 28; ++column) {
        noise = noise * 1664525u + 1013904223u;
        const bool bar = row / 2 == i % 10 + 2 && column >= 4 && column < 24;
        pixels += static_cast<char>((bar ? 170 : 0) + (noise >> 24) / 4);
      }
  return pixels;
}

struct MnistSizes {
  std::uint32_t train = 256;
  std::uint32_t test = 64;
};

/// Writes the four files, gzipped, as MNIST names them.
inline void make_mnist(const std::string& directory, MnistSizes sizes = {}) {
  std::filesystem::create_directories(directory);
  const auto write = [&](const std::string& prefix, std::uint32_t n, std::uint32_t seed) {
    write_bytes(directory + "/" + prefix + "-images-idx3-ubyte.gz",
                gzip(idx({n, 28, 28}, digit_images(n, seed))));
    write_bytes(directory + "/" + prefix + "-labels-idx1-ubyte.gz", gzip(idx({n}, digit_labels(n))));
  };
  write("train", sizes.train, 1);
  write("t10k", sizes.test, 2);
}

}  // namespace ronde::test
