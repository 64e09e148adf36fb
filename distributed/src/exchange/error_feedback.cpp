#include "exchange/error_feedback.h"

#include <ronde/core/backend.h>

namespace ronde::inline v0 {

ErrorFeedback::ErrorFeedback(const std::vector<std::int64_t>& counts, TensorOptions options) {
  for (const std::int64_t count : counts) left_.push_back(Tensor::zeros({count}, options));
}

void ErrorFeedback::expect(double total_samples) {
  scale_ = total_samples > 0.0 && samples_ > 0.0 ? total_samples / samples_ : 1.0;
}

const Tensor& ErrorFeedback::add_to(std::size_t index, const Tensor& gradients) {
  const Tensor& left = left_[index];
  Backend& backend = left.backend();
  if (scale_ != 1.0) backend.unary(UnaryOp::affine, left, left, {.alpha = scale_, .beta = 0.0});
  backend.accumulate(left, gradients, 1.0);
  return left;
}

void ErrorFeedback::end_step(double total_samples, const Tensor& sums, int ranks) {
  if (total_samples > 0.0) {
    samples_ = total_samples;
    return;
  }
  std::int64_t begin = 0;
  for (const Tensor& left : left_) {
    left.backend().accumulate(left, sums.view(begin, left.shape()), 1.0 / ranks);
    begin += left.count();
  }
  samples_ *= scale_;  // of which they now are, if somebody expected another number
}

void ErrorFeedback::reset() {
  for (const Tensor& left : left_) left.fill(0.0);
  samples_ = 0.0;
  scale_ = 1.0;
}

}  // namespace ronde::inline v0
