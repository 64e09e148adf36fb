/// What a Call has of a tensor.
#pragma once

#include <ronde/core/tensor.h>

#include "cuda/call.h"

namespace ronde::inline v0::cuda {

/// Of an undefined one, too.
Operand operand_of(const Tensor& tensor);

}  // namespace ronde::inline v0::cuda
