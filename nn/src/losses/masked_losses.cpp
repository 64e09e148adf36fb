#include "losses/masked_losses.h"

#include <algorithm>

#include <ronde/core/backend.h>
#include <ronde/core/ops.h>

namespace ronde::inline v0 {

namespace {

void check_mask(const std::string& loss, const Variable& output, const Tensor& target) {
  const Shape& mask = output.mask().shape();
  require(output.rank() > 2 && mask == (Shape{output.size(0), output.size(1)}), "[", loss,
          "] expects a mask (n, steps) beside outputs (n, steps, ..., k), got ", mask, " and ",
          output.shape());
  require(target.rank() > 1 && target.size(0) == mask[0] && target.size(1) == mask[1], "[", loss,
          "] expects targets for ", mask[1], " steps of ", mask[0], " samples, got ", target.shape());
}

/// mask (n, steps) times n / steps that count, both of all ranks.
Variable weights_of_steps(const Variable& mask, const SumOverRanks& sum_over_ranks) {
  const auto samples = static_cast<double>(mask.size(0));
  const Variable counted = sum(mask);
  if (!sum_over_ranks)
    return mask * (samples / maximum(counted, Tensor::full({}, 1.0, counted.value().options())));
  const Tensor counts = Tensor::from<double>({2}, {samples, counted.value().item()}, &backend("cpu"));
  sum_over_ranks(counts);
  return mask * (counts.data<double>()[0] / std::max(counts.data<double>()[1], 1.0));
}

}  // namespace

Variable losses_of_masked(const Loss& loss, const Variable& output, const Tensor& target,
                          const SumOverRanks& sum_over_ranks) {
  check_mask(loss.name(), output, target);
  const Tensor& mask = output.mask();
  const Variable of_steps =
      losses_of_samples(loss, steps_as_batch(output), target.reshape(target.shape().steps_as_batch()));
  const Variable weights =
      weights_of_steps(mask.to(of_steps.dtype()).to(of_steps.value().backend()), sum_over_ranks);
  return sum(reshape(of_steps, mask.shape()) * weights, {.axes = {1}});
}

}  // namespace ronde::inline v0
