#include <ronde/core/cuda.h>
#include <ronde/core/error.h>
#include <ronde/core/tensor.h>

#include "cuda/cuda_backend.h"

namespace ronde::inline v0 {

GatedUpdates::GatedUpdates(const Tensor& gate) {
  const auto* gpu = dynamic_cast<const cuda::CudaBackend*>(&gate.backend());
  require<UsageError>(gpu && gate.dtype() == DType::f64 && gate.count() == 1,
                      "[cuda] a gate of updates is a scalar of f64 on a GPU");
  gate_ = std::make_unique<cuda::InThread>(gpu, cuda::InThread::Kind::gate, gate.data<double>());
}

GatedUpdates::~GatedUpdates() = default;

}  // namespace ronde::inline v0
