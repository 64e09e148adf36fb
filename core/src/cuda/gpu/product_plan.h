/// Plans of matrix products: cuBLASLt with the bias as its epilogue.
#pragma once

#include <memory>

#include <cublasLt.h>

#include "cuda/gpu/plan.h"

namespace ronde::inline v0::cuda {

std::unique_ptr<PlanTag> make_product_plan(const Call& call, const MathOptions& math, cublasLtHandle_t handle,
                                           const Place& place);

}  // namespace ronde::inline v0::cuda
