#include "tensorboard/sample_images.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ronde::inline v0 {

namespace {

struct Range {
  float low, high;
};

/// What becomes black and white.
Range range_of(const std::vector<float>& values) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  if (*low >= 0.0f && *high <= 1.0f) return {0.0f, 1.0f};
  if (*low >= 0.0f && *high <= 255.0f) return {0.0f, 255.0f};
  return {*low, *high};
}

std::uint8_t brightness(float value, const Range& range) {
  const float share = (value - range.low) / std::max(range.high - range.low, 1e-30f);
  return std::isfinite(share) ? static_cast<std::uint8_t>(std::lround(255.0f * std::clamp(share, 0.0f, 1.0f)))
                              : 0;
}

}  // namespace

std::vector<Tensor> sample_images(const Dataset& data, std::int64_t count) {
  const Shape shape = data.input_shape();
  require<UsageError>(shape.rank() == 3 && (shape[2] == 1 || shape[2] == 3),
                      "[tensorboard] sample_images expects pictures (h, w, 1) or (h, w, 3), got ", shape);
  count = std::min(count, data.size());
  if (count == 0) return {};
  std::vector<std::int64_t> samples(static_cast<std::size_t>(count));
  std::iota(samples.begin(), samples.end(), 0);
  const Tensor inputs = Tensor::empty(shape.batch_of(count));
  const Tensor targets = Tensor::empty(data.target_shape().batch_of(count), {.dtype = data.target_dtype()});
  data.read(samples, inputs, targets);

  const std::vector<float> values = inputs.to_vector<float>();
  const Range range = range_of(values);
  std::vector<std::uint8_t> bytes;
  bytes.reserve(values.size());
  for (const float value : values) bytes.push_back(brightness(value, range));
  const Tensor pictures = Tensor::from<std::uint8_t>(inputs.shape(), bytes);
  std::vector<Tensor> result;
  for (std::int64_t i = 0; i < count; ++i) result.push_back(pictures.slice(0, i, i + 1).reshape(shape));
  return result;
}

}  // namespace ronde::inline v0
