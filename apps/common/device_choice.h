/// What a trainer computes on.
#pragma once

#include <string>

#include <ronde/core/cuda.h>
#include <ronde/distributed/communicator.h>

namespace ronde::apps {

/// What `--device` asks for, the same kind on all ranks; of several GPUs that a rank sees, the one of its
/// number on the node. A UsageError that says what is missing. Collective; "auto" must not throw.
ChosenDevice choose_training_device(Communicator& world, const std::string& wanted);

/// "cuda", "cpu": for `--metrics-json`.
std::string device_kind(const ChosenDevice& device);
/// "cpu, backend onednn (no GPU: ...)", "cuda:0 NVIDIA H200, CUDA 13.0, ...": for the banner.
std::string device_line(const ChosenDevice& device);

/// For `ronde info`: devices and versions, or what is missing.
std::string gpu_line();

}  // namespace ronde::apps
