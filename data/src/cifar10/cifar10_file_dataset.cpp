#include "cifar10/cifar10_file_dataset.h"

#include <array>
#include <utility>

#include "cifar10/read_cifar10.h"
#include "scale_values.h"

namespace ronde::inline v0 {

namespace {

constexpr std::int64_t kPictureBytes = 3 * kCifar10Plane;

}  // namespace

Cifar10FileDataset::Cifar10FileDataset(Files files, const Tensor& labels,
                                       std::vector<std::string> class_names)
    : files_(std::move(files)),
      of_a_file_(labels.size(0) / std::ssize(files_)),
      labels_(labels.to(DType::i32)),
      options_{.scale = 1.0 / 255, .class_names = std::move(class_names)} {}

void Cifar10FileDataset::read_pixels(std::int64_t sample, std::uint8_t* pixels) const {
  std::array<std::uint8_t, kPictureBytes> planes;
  const InputFile& file = *files_[static_cast<std::size_t>(sample / of_a_file_)];
  const auto record = static_cast<std::uint64_t>(sample % of_a_file_);
  file.read(record * kCifar10Record + 1, planes.data(), planes.size());
  interleave_planes(planes.data(), pixels);
}

const InMemoryDataset* Cifar10FileDataset::in_memory() const {
  std::call_once(loaded_, [this] {
    const Tensor images = Tensor::empty(input_shape().batch_of(size()), {.dtype = DType::u8});
    auto* pixels = images.data<std::uint8_t>();
    for (std::int64_t sample = 0; sample < size(); ++sample)
      read_pixels(sample, pixels + sample * kPictureBytes);
    in_memory_.emplace(images, labels_, options_);
  });
  return &*in_memory_;
}

void Cifar10FileDataset::read(std::span<const std::int64_t> samples, const Tensor& inputs,
                              const Tensor& targets) const {
  for (const std::int64_t sample : samples)
    require(sample >= 0 && sample < size(), "[cifar10] sample ", sample, " of ", size());
  const std::int32_t* labels = labels_.data<std::int32_t>();
  std::array<std::uint8_t, kPictureBytes> pixels;
  visit_real(inputs.dtype(), "cifar10", [&](auto real) {
    using T = decltype(real);
    T* to = inputs.data<T>();
    std::int32_t* label = targets.data<std::int32_t>();
    for (const std::int64_t sample : samples) {
      read_pixels(sample, pixels.data());
      scale_values(pixels.data(), kPictureBytes, to, options_.scale, options_.offset);
      to += kPictureBytes;
      *label++ = labels[sample];
    }
  });
}

}  // namespace ronde::inline v0
