#include <ronde/core/cuda.h>
#include <ronde/core/error.h>
#include <ronde/core/tensor.h>

#include "cuda/cuda_backend.h"

namespace ronde::inline v0 {

GatedUpdates::GatedUpdates(const Tensor& gate) : backend_(gate.backend()) {
  auto* gpu = dynamic_cast<cuda::CudaBackend*>(&backend_);
  require<UsageError>(gpu && gate.dtype() == DType::f64 && gate.count() == 1,
                      "[cuda] a gate of updates is a scalar of f64 on a GPU");
  gpu->gate(gate.data<double>());
}

GatedUpdates::~GatedUpdates() {
  dynamic_cast<cuda::CudaBackend&>(backend_).gate(nullptr);
}

}  // namespace ronde::inline v0
