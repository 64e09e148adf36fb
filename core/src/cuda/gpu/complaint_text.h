/// Complaints in words.
#pragma once

#include <string>

#include "cuda/gpu/kernels.h"

namespace ronde::inline v0::cuda {

/// In the words of the CPU's kernels.
std::string text_of(const Complaint& complaint);

}  // namespace ronde::inline v0::cuda
