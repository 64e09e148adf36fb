#include <zlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>

#include <ronde/core/backend.h>
#include <ronde/core/new_file.h>
#include <ronde/core/thread_pool.h>
#include <ronde/data/packed_dataset.h>

#include "packed/pack_header.h"

namespace ronde::inline v0 {
namespace {

/// Finds the byte that stands for a value.
class Bytes {
 public:
  explicit Bytes(const PackHeader& header) : header_(header) {
    for (std::size_t byte = 0; byte < values_.size(); ++byte)
      values_[byte] = static_cast<float>(static_cast<double>(byte) * header.scale + header.offset);
  }
  /// False when none does exactly.
  bool find(float value, char& byte) const {
    const double near = (static_cast<double>(value) - header_.offset) / header_.scale + 0.5;
    const auto number = near >= 0 && near < 256 ? static_cast<std::uint8_t>(near) : std::uint8_t{0};
    byte = static_cast<char>(number);
    return values_[number] == value;
  }

 private:
  const PackHeader& header_;
  std::array<float, 256> values_;
};

class Packer {
 public:
  Packer(const Dataset& dataset, const PackOptions& options);
  void write(const std::string& path);

 private:
  void read_block(std::int64_t first, std::int64_t count);
  void encode_inputs(std::int64_t first, std::int64_t count);

  const Dataset& dataset_;
  const PackOptions& options_;
  PackHeader header_;
  PackLayout layout_;
  ThreadPool pool_;
  Tensor inputs_, targets_;  // of a block, as they are read
  std::string block_;        // as it is written
};

PackHeader describe(const Dataset& dataset, const PackOptions& options) {
  PackHeader header{.size = dataset.size(),
                    .block_size = dataset.size(),
                    .scale = options.scale,
                    .offset = options.offset,
                    .input_dtype = options.dtype,
                    .target_dtype = dataset.target_dtype(),
                    .input_shape = dataset.input_shape(),
                    .target_shape = dataset.target_shape(),
                    .class_names = dataset.class_names()};
  const PackLayout layout = layout_of(header);
  const auto sample = static_cast<std::int64_t>(layout.input + layout.target);
  header.block_size = std::clamp<std::int64_t>(options.block_bytes / sample, 1, header.size);
  return header;
}

void check(const Dataset& dataset, const PackOptions& options) {
  require<UsageError>(dataset.size() >= 1, "[pack_dataset] expects at least 1 sample");
  require<UsageError>(
      options.dtype == DType::u8 || options.dtype == DType::f32 || options.dtype == DType::f64,
      "[pack_dataset] expects to keep inputs as u8, f32 or f64, got ", options.dtype);
  require<UsageError>(std::isfinite(options.scale) && options.scale != 0 && std::isfinite(options.offset),
                      "[pack_dataset] expects a finite scale other than 0, got ", options.scale);
  require<UsageError>(options.block_bytes >= 1 && options.threads >= 1,
                      "[pack_dataset] expects blocks and threads of at least 1, got ", options.block_bytes,
                      " and ", options.threads);
}

Tensor rows(std::int64_t n, const Shape& sample, DType dtype) {
  return Tensor::empty(sample.batch_of(n), {.dtype = dtype, .backend = &backend("cpu")});
}

Packer::Packer(const Dataset& dataset, const PackOptions& options)
    : dataset_(dataset),
      options_(options),
      header_(describe(dataset, options)),
      layout_(layout_of(header_)),
      pool_(options.threads),
      inputs_(rows(header_.block_size, header_.input_shape,
                   options.dtype == DType::f64 ? DType::f64 : DType::f32)),
      targets_(rows(header_.block_size, header_.target_shape, header_.target_dtype)) {}

void Packer::read_block(std::int64_t first, std::int64_t count) {
  pool_.parallel_for(count, 1, [&](std::int64_t begin, std::int64_t end) {
    std::vector<std::int64_t> samples(static_cast<std::size_t>(end - begin));
    std::iota(samples.begin(), samples.end(), first + begin);
    dataset_.read(samples, inputs_.slice(0, begin, end), targets_.slice(0, begin, end));
  });
}

void Packer::encode_inputs(std::int64_t first, std::int64_t count) {
  if (options_.dtype != DType::u8) {
    std::memcpy(block_.data(), inputs_.raw(), static_cast<std::size_t>(count) * layout_.input);
    return;
  }
  const auto per_sample = static_cast<std::int64_t>(layout_.input);
  const float* values = inputs_.data<float>();
  const Bytes bytes(header_);
  for (std::int64_t i = 0; i < count * per_sample; ++i)
    require<UsageError>(bytes.find(values[i], block_[static_cast<std::size_t>(i)]), "[pack_dataset] sample ",
                        first + i / per_sample, " holds ", static_cast<double>(values[i]),
                        ", which is no byte times ", header_.scale, " plus ", header_.offset,
                        ": give the right scale and offset, or keep f32");
}

void Packer::write(const std::string& path) {
  NewFile file(path);
  for (std::uint64_t number = 0; number < layout_.blocks; ++number) {
    const std::int64_t first = static_cast<std::int64_t>(number) * header_.block_size;
    const std::int64_t count = std::min(header_.block_size, header_.size - first);
    read_block(first, count);
    block_.assign(layout_.block, '\0');
    encode_inputs(first, count);
    std::memcpy(block_.data() + layout_.targets_at, targets_.raw(),
                static_cast<std::size_t>(count) * layout_.target);
    header_.crc32.push_back(static_cast<std::uint32_t>(
        ::crc32_z(0, reinterpret_cast<const unsigned char*>(block_.data()), block_.size())));
    file.write(layout_.header + number * layout_.block, block_);
    if (options_.progress) options_.progress(first + count, header_.size);
  }
  file.write(0, encode_header(header_));
  file.publish();
}

}  // namespace

void pack_dataset(const Dataset& dataset, const std::string& path, const PackOptions& options) {
  check(dataset, options);
  Packer(dataset, options).write(path);
}

}  // namespace ronde::inline v0
