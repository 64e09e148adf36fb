#include <cmath>

#include <ronde/core/philox.h>

#include "backend/onednn/backend.h"

namespace ronde::inline v0 {

namespace {

// uniform_float(word) >= rate in whole numbers: a word is kept from this one on. Exact, as multiplying by a
// power of two is.
double first_kept_word(double rate) {
  return std::ceil(static_cast<double>(static_cast<float>(rate)) * 0x1p24) * 0x1p8;
}

}  // namespace

void OneDnnBackend::dropout(const Tensor& out, const Tensor& x, const Tensor& sample_keys,
                            const DropoutParams& params) {
  const double first_kept = first_kept_word(params.rate);
  const bool drops_some = first_kept > 0 && first_kept < 0x1p32;
  if (!drops_some || !dense_floats(out, x) || !sample_keys.is_contiguous())
    return CpuBackend::dropout(out, x, sample_keys, params);
  const std::int64_t n = x.size(0), per_sample = n == 0 ? 0 : x.count() / n;
  const std::uint64_t key = random_key(params.seed, params.op);
  const auto* keys = sample_keys.data<std::int64_t>();
  float* to = out.data<float>();
  const float* from = x.data<float>();
  const auto scale = static_cast<float>(1 / (1 - params.rate));
  threads().parallel_for(n, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      kernels_.dropout(to + i * per_sample, from + i * per_sample, per_sample, key,
                       static_cast<std::uint64_t>(keys[2 * i]), static_cast<std::uint64_t>(keys[2 * i + 1]),
                       static_cast<std::uint32_t>(first_kept), scale);
  });
}

}  // namespace ronde::inline v0
