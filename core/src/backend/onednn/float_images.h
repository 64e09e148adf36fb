/// Images of f32 or bf16 tensors as floats, some at a time: where they lie, or widened in scratch, which
/// stays in a thread's cache where a whole float tensor would go through memory.
#pragma once

#include "backend/cpu/scratch.h"
#include "backend/onednn/backend.h"

namespace ronde::inline v0 {

/// Of an image in scratch.
inline std::int64_t widened_elements(const Tensor& tensor, std::int64_t n) {
  return tensor.defined() && tensor.dtype() == DType::bf16 ? tensor.count() / n : 0;
}

/// What both have: `n` images, of which `most` are wanted at a time. An undefined tensor has none.
class FloatImages {
 public:
  FloatImages(Backend& backend, const Kernels& kernels, const Tensor& tensor, std::int64_t n,
              std::int64_t most)
      : kernels_(kernels),
        image_(tensor.defined() ? tensor.count() / n : 0),
        halves_(tensor.defined() && tensor.dtype() == DType::bf16 ? bits_of(tensor) : nullptr),
        floats_(tensor.defined() && !halves_ ? tensor.data<float>() : nullptr),
        wide_(backend, most * widened_elements(tensor, n)) {}

  std::int64_t elements() const { return image_; }  ///< of an image
  bool are_widened() const { return halves_; }

 protected:
  const Kernels& kernels_;
  std::int64_t image_;
  std::uint16_t* halves_;
  float* floats_;
  Scratch<float> wide_;
};

/// Images that a kernel reads.
class ReadImages : public FloatImages {
 public:
  using FloatImages::FloatImages;

  /// Those from the first one on, until the next call; null of an undefined tensor.
  const float* operator()(std::int64_t first, std::int64_t images) const {
    if (!halves_) return floats_ ? floats_ + first * image_ : nullptr;
    kernels_.from_bfloat16(wide_.data(), halves_ + first * image_, images * image_);
    return wide_.data();
  }
};

/// Images that a kernel writes.
class WrittenImages : public FloatImages {
 public:
  using FloatImages::FloatImages;

  /// Where those from the first one on are to be written; null of an undefined tensor.
  float* room(std::int64_t first) const {
    if (halves_) return wide_.data();
    return floats_ ? floats_ + first * image_ : nullptr;
  }
  /// They have been.
  void keep(std::int64_t first, std::int64_t images) const {
    if (halves_) kernels_.to_bfloat16(halves_ + first * image_, wide_.data(), images * image_);
  }
};

}  // namespace ronde::inline v0
