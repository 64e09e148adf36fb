/// Rows of f32 or bf16 tensors as floats, some at a time: where they lie, or widened in scratch, which stays
/// in a thread's cache where a whole float tensor would go through memory. A row is an image, the channels of
/// a pixel, or a single element.
#pragma once

#include <algorithm>

#include "backend/cpu/scratch.h"
#include "backend/onednn/backend.h"

namespace ronde::inline v0 {

/// Of a row in scratch.
inline std::int64_t widened_elements(const Tensor& tensor, std::int64_t n) {
  return is_bfloat16(tensor) ? tensor.count() / n : 0;
}

/// What both have: `n` rows, of which `most` are wanted at a time. An undefined tensor has none.
class FloatRows {
 public:
  FloatRows(Backend& backend, const Kernels& kernels, const Tensor& tensor, std::int64_t n, std::int64_t most)
      : kernels_(kernels),
        row_(tensor.defined() ? tensor.count() / n : 0),
        halves_(is_bfloat16(tensor) ? bits_of(tensor) : nullptr),
        floats_(tensor.defined() && !halves_ ? tensor.data<float>() : nullptr),
        wide_(backend, most * widened_elements(tensor, n)) {}

  std::int64_t elements() const { return row_; }  ///< of a row
  bool are_widened() const { return halves_; }

 protected:
  const Kernels& kernels_;
  std::int64_t row_;
  std::uint16_t* halves_;
  float* floats_;
  Scratch<float> wide_;
};

/// Rows that a kernel reads.
class ReadRows : public FloatRows {
 public:
  using FloatRows::FloatRows;

  /// Those from the first one on, until the next call; null of an undefined tensor.
  const float* operator()(std::int64_t first, std::int64_t rows) const {
    if (!halves_) return floats_ ? floats_ + first * row_ : nullptr;
    kernels_.from_bfloat16(wide_.data(), halves_ + first * row_, rows * row_);
    return wide_.data();
  }
};

/// Rows that a kernel writes.
class WrittenRows : public FloatRows {
 public:
  using FloatRows::FloatRows;

  /// Where those from the first one on are to be written; null of an undefined tensor.
  float* room(std::int64_t first) const {
    if (halves_) return wide_.data();
    return floats_ ? floats_ + first * row_ : nullptr;
  }
  /// They have been.
  void keep(std::int64_t first, std::int64_t rows) const {
    if (halves_) kernels_.to_bfloat16(halves_ + first * row_, wide_.data(), rows * row_);
  }
};

/// Rows of `elements` that a thread takes at a time from the `rows` that it has: all if no tensor is widened,
/// else a few, in whole groups of `group`.
template <class... Tensors>
std::int64_t rows_at_a_time(std::int64_t rows, std::int64_t elements, std::int64_t group,
                            const Tensors&... tensors) {
  constexpr std::int64_t kWidened = 512;  // elements: of 1,024 1.03 and of 4,096 1.7 of the time
  if (!(is_bfloat16(tensors) || ...)) return rows;
  return std::min(rows, std::max<std::int64_t>(kWidened / (elements * group), 1) * group);
}

/// Calls `f(first, rows)` for `most` rows at a time.
template <class F>
void in_pieces(std::int64_t begin, std::int64_t end, std::int64_t most, F&& f) {
  for (; begin < end; begin += most) f(begin, std::min(most, end - begin));
}

/// Calls `f(row of out, row of x, its number)` for all rows, which lie behind the first index of both, on all
/// threads.
template <class F>
void for_rows(Backend& backend, const Kernels& kernels, const Tensor& out, const Tensor& x, const F& f) {
  const std::int64_t n = out.size(0);
  backend.threads().parallel_for(n, 1, [&](std::int64_t begin, std::int64_t end) {
    const WrittenRows to(backend, kernels, out, n, 1);
    const ReadRows from(backend, kernels, x, n, 1);
    for (std::int64_t i = begin; i < end; ++i) {
      f(to.room(i), from(i, 1), i);
      to.keep(i, 1);
    }
  });
}

}  // namespace ronde::inline v0
