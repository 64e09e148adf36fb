/// Calls in words, for messages and tables.
#pragma once

#include <string>

#include "cuda/call.h"

namespace ronde::inline v0::cuda {

/// Named as in Backend: "conv2d_backward_weight".
std::string to_string(Op op);
/// "(128, 10) bf16"; f32 goes without saying.
std::string to_string(const Operand& operand);
/// "dense (128, 10) bf16 <- (128, 128) bf16 (128, 10) bf16 (10)": outputs, then inputs, each tensor once.
std::string to_string(const Call& call);

}  // namespace ronde::inline v0::cuda
