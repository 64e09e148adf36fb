/// DropoutMask: what the dropout kernel wants to know of a layer.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>

#include <ronde/core/kernel_params.h>
#include <ronde/core/philox.h>

#include "backend/onednn/kernels/kernels.h"

namespace ronde::inline v0 {

class DropoutMask {
 public:
  /// Nothing for a rate at which no element is dropped, or none kept.
  static std::optional<DropoutMask> make(const DropoutParams& params) {
    // uniform_float(word) >= rate in whole numbers: a word is kept from this one on. Exact, as multiplying by
    // a power of two is.
    const double first_kept =
        std::ceil(static_cast<double>(static_cast<float>(params.rate)) * 0x1p24) * 0x1p8;
    if (first_kept <= 0 || first_kept >= 0x1p32) return std::nullopt;
    DropoutMask mask;
    mask.key_ = random_key(params.seed, params.op);
    mask.first_kept_ = static_cast<std::uint32_t>(first_kept);
    mask.scale_ = static_cast<float>(1 / (1 - params.rate));
    return mask;
  }

  /// Of one sample; `sample_key` are its index and its epoch. out may be x.
  void apply(const Kernels& kernels, float* out, const float* x, std::int64_t n,
             const std::int64_t* sample_key) const {
    kernels.dropout(out, x, n, key_, static_cast<std::uint64_t>(sample_key[0]),
                    static_cast<std::uint64_t>(sample_key[1]), first_kept_, scale_);
  }

 private:
  std::uint64_t key_ = 0;
  std::uint32_t first_kept_ = 0;
  float scale_ = 1;
};

}  // namespace ronde::inline v0
