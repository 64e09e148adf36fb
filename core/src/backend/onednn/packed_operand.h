/// PackedOperand: the right operand of many products, packed once for all of them.
#pragma once

#include "backend/onednn/products.h"

namespace ronde::inline v0 {

class PackedOperand {
 public:
  /// b (k, n) of dense floats; transposed, it lies as (n, k). `is_used`: whether anything will be multiplied.
  PackedOperand(Backend& backend, const Kernels& kernels, const float* b, std::int64_t k, std::int64_t n,
                bool transpose, bool is_used)
      : kernels_(kernels),
        k_(k),
        columns_(ceil_divide<std::int64_t>(n, kernels.lanes) * kernels.lanes),
        packed_(backend, is_used ? k * columns_ : 0) {
    if (!is_used) return;
    const std::int64_t pitch = transpose ? k : columns_;
    const Zeros<float> padded(backend, n == columns_ ? 0 : k * columns_);
    if (padded.data()) {
      copy_rows(padded.data(), pitch, b, transpose ? k : n, transpose ? n : k, transpose ? k : n);
      b = padded.data();
    }
    const ProductShape shape{0, columns_, k, 0, 0, pitch, false, transpose};
    backend.threads().parallel_for(
        ceil_divide(columns_, kProductColumns), 1, [&](std::int64_t begin, std::int64_t end) {
          for (; begin < end; ++begin)
            kernels.pack_columns(packed_.data(), b, shape, begin * kProductColumns);
        });
  }

  /// n, filled up to whole vectors: as many a result has.
  std::int64_t columns() const { return columns_; }
  /// out (m, columns()) = a (m, k) * b; scratch: kProductScratch elements. For one thread.
  void multiply(float* out, const float* a, std::int64_t m, float* scratch) const {
    const ProductShape shape{m, columns_, k_, columns_, k_, 0, false, false, true};
    kernels_.product(out, a, packed_.data(), shape, scratch);
  }

 private:
  const Kernels& kernels_;
  std::int64_t k_, columns_;
  Scratch<float> packed_;
};

}  // namespace ronde::inline v0
