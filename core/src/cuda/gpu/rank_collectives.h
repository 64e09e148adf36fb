/// Several ranks' GPUs: by NCCL (nccl_collectives.cpp), or not at all where its header was missing
/// (no_nccl_collectives.cpp).
#pragma once

#include <memory>
#include <string>

#include "cuda/collectives.h"

namespace ronde::inline v0::cuda {

/// Why there are none; empty: there are.
std::string why_no_collectives();
/// "NCCL 2.28.9"; empty where there is none.
std::string collectives_version();
/// Of a device; nullptr where there are none.
std::unique_ptr<Collectives> make_collectives(int device);

}  // namespace ronde::inline v0::cuda
