#include "weight_average.h"

#include <ronde/core/backend.h>

namespace ronde::inline v0 {

void average_over_ranks(Communicator& communicator, const std::vector<Tensor>& tensors, double weight,
                        std::atomic<std::int64_t>& bytes) {
  std::vector<double> total{weight};
  allreduce_values(communicator, total);
  if (total[0] <= 0.0) return;
  Wire wire(communicator, bytes);
  for (const Tensor& tensor : tensors) {
    // In a copy, so that ranks whose sum has failed still have what they had.
    const Tensor share = Tensor::empty_like(tensor);
    tensor.backend().unary(UnaryOp::affine, share, tensor, {.alpha = weight / total[0], .beta = 0.0});
    wire.sum(share);
    tensor.copy_from(share);
  }
}

}  // namespace ronde::inline v0
