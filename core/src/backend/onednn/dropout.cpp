#include "backend/onednn/dropout_mask.h"

#include "backend/onednn/backend.h"

namespace ronde::inline v0 {

void OneDnnBackend::dropout(const Tensor& out, const Tensor& x, const Tensor& sample_keys,
                            const DropoutParams& params) {
  const std::optional<DropoutMask> mask = DropoutMask::make(params);
  if (!mask || !dense_floats(out, x) || !sample_keys.is_contiguous())
    return WithBfloat16::dropout(out, x, sample_keys, params);
  const std::int64_t n = x.size(0), per_sample = n == 0 ? 0 : x.count() / n;
  const auto* keys = sample_keys.data<std::int64_t>();
  float* to = out.data<float>();
  const float* from = x.data<float>();
  threads().parallel_for(n, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      mask->apply(kernels_, to + i * per_sample, from + i * per_sample, per_sample, keys + 2 * i);
  });
}

}  // namespace ronde::inline v0
