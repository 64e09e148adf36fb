#include "backend/onednn/dropout_mask.h"

#include "backend/onednn/backend.h"
#include "backend/onednn/float_rows.h"

namespace ronde::inline v0 {

void OneDnnBackend::dropout(const Tensor& out, const Tensor& x, const Tensor& sample_keys,
                            const DropoutParams& params) {
  const std::optional<DropoutMask> mask = DropoutMask::make(params);
  if (!mask || !dense_values(out, x) || !sample_keys.is_contiguous())
    return WithBfloat16::dropout(out, x, sample_keys, params);
  const std::int64_t n = x.size(0), per_sample = n == 0 ? 0 : x.count() / n;
  const auto* keys = sample_keys.data<std::int64_t>();
  for_rows(*this, kernels_, out, x, [&](float* to, const float* from, std::int64_t sample) {
    mask->apply(kernels_, to, from, per_sample, keys + 2 * sample);
  });
}

}  // namespace ronde::inline v0
