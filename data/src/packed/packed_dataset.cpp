#include <ronde/data/packed_dataset.h>

#include <zlib.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include <ronde/core/counted.h>

#include "files/input_file.h"
#include "packed/pack_header.h"
#include "scale_values.h"

namespace ronde::inline v0 {

struct PackedDataset::State {
  explicit State(const std::string& path)
      : file(path), header(read_header(file)), layout(layout_of(header)), checked(layout.blocks) {}

  const unsigned char* block(std::uint64_t number) const {
    return file.data() + layout.header + number * layout.block;
  }
  void check(std::uint64_t number) const;
  void check_labels(std::uint64_t number, std::int64_t first, std::int64_t end) const;
  template <class T>
  void read_input(const unsigned char* from, T* to) const;

  const MappedFile file;
  const PackHeader header;
  const PackLayout layout;
  mutable std::vector<std::atomic<bool>> checked;  // blocks whose CRC-32 was right
};

/// Two threads may check a block at the same time; they come to the same result.
void PackedDataset::State::check(std::uint64_t number) const {
  if (checked[number].load(std::memory_order_relaxed)) return;
  const auto crc = static_cast<std::uint32_t>(::crc32_z(0, block(number), layout.block));
  const auto first = static_cast<std::int64_t>(number) * header.block_size;
  const std::int64_t end = std::min(first + header.block_size, header.size);
  file.expect(crc == header.crc32[number], "damaged: the CRC-32 of samples ",
              grouped(static_cast<std::uint64_t>(first)), " to ",
              grouped(static_cast<std::uint64_t>(end - 1)), " is wrong");
  if (header.target_dtype == DType::i32 && !header.class_names.empty()) check_labels(number, first, end);
  checked[number].store(true, std::memory_order_relaxed);
}

void PackedDataset::State::check_labels(std::uint64_t number, std::int64_t first, std::int64_t end) const {
  const auto* labels = reinterpret_cast<const std::int32_t*>(block(number) + layout.targets_at);
  const std::int64_t per_sample = header.target_shape.count();
  const auto classes = static_cast<std::int64_t>(header.class_names.size());
  for (std::int64_t i = 0; i < (end - first) * per_sample; ++i)
    file.expect(labels[i] >= 0 && labels[i] < classes, "label ", labels[i], " of sample ",
                grouped(static_cast<std::uint64_t>(first + i / per_sample)), " is none of ",
                counted(classes, "class", "classes"));
}

template <class T>
void PackedDataset::State::read_input(const unsigned char* from, T* to) const {
  const std::int64_t count = header.input_shape.count();
  if (header.input_dtype == DType::u8)
    scale_values(from, count, to, header.scale, header.offset);
  else if (header.input_dtype == DType::f32)
    std::copy_n(reinterpret_cast<const float*>(from), count, to);
  else
    std::transform(reinterpret_cast<const double*>(from), reinterpret_cast<const double*>(from) + count, to,
                   [](double value) { return static_cast<T>(value); });
}

PackedDataset::PackedDataset(const std::string& path) : state_(std::make_unique<State>(path)) {}
PackedDataset::~PackedDataset() = default;

std::int64_t PackedDataset::size() const {
  return state_->header.size;
}
Shape PackedDataset::input_shape() const {
  return state_->header.input_shape;
}
Shape PackedDataset::target_shape() const {
  return state_->header.target_shape;
}
DType PackedDataset::target_dtype() const {
  return state_->header.target_dtype;
}
std::vector<std::string> PackedDataset::class_names() const {
  return state_->header.class_names;
}
std::int64_t PackedDataset::block_size() const {
  return state_->header.block_size;
}
DType PackedDataset::stored_dtype() const {
  return state_->header.input_dtype;
}
double PackedDataset::scale() const {
  return stored_dtype() == DType::u8 ? state_->header.scale : 1.0;
}

void PackedDataset::verify() const {
  for (std::uint64_t block = 0; block < state_->layout.blocks; ++block) state_->check(block);
}

void PackedDataset::read(std::span<const std::int64_t> samples, const Tensor& inputs,
                         const Tensor& targets) const {
  const PackLayout& layout = state_->layout;
  require(targets.dtype() == target_dtype(), "[packed_dataset] expects memory for targets of ",
          target_dtype(), ", got ", targets.dtype());
  state_->file.expect_whole();
  const std::int64_t count = input_shape().count();
  auto* target = static_cast<char*>(targets.raw());
  std::int64_t row = 0;
  for (const std::int64_t sample : samples) {
    require(sample >= 0 && sample < size(), "[packed_dataset] sample ", sample, " of ", size());
    const auto number = static_cast<std::uint64_t>(sample / block_size());
    const auto within = static_cast<std::uint64_t>(sample % block_size());
    state_->check(number);
    const unsigned char* block = state_->block(number);
    visit_real(inputs.dtype(), "packed_dataset", [&](auto real) {
      using T = decltype(real);
      state_->read_input(block + within * layout.input, inputs.data<T>() + row * count);
    });
    std::memcpy(target, block + layout.targets_at + within * layout.target, layout.target);
    target += layout.target;
    ++row;
  }
}

}  // namespace ronde::inline v0
