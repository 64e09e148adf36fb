/// ErrorFeedback: what this rank has not sent yet. See Note [Error feedback].
#pragma once

#include <cstdint>
#include <vector>

#include <ronde/core/tensor.h>

namespace ronde::inline v0 {

class ErrorFeedback {
 public:
  /// A vector of zeros for each bucket.
  ErrorFeedback(const std::vector<std::int64_t>& counts, TensorOptions options);

  /// Gradients of the next step will be divided by so many samples; 0: as many as before.
  void expect(double total_samples);
  /// They were divided by so many. With 0 they are not used: `sums`, what came of all buckets on each of
  /// `ranks`, one after the other, is taken back, by each rank its share.
  void end_step(double total_samples, const Tensor& sums, int ranks);
  /// What is left of bucket `index`, in units of this step's gradients, plus `gradients`. To be reduced to
  /// what is left this time.
  const Tensor& add_to(std::size_t index, const Tensor& gradients);
  void reset();

 private:
  std::vector<Tensor> left_;
  double samples_ = 0.0;  // of the step that left this; 0: not known
  double scale_ = 1.0;
};

}  // namespace ronde::inline v0
