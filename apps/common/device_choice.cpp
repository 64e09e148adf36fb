#include "common/device_choice.h"

#include <ronde/core/backend.h>

namespace ronde::apps {
namespace {

bool is_on_gpu(const ChosenDevice& device) {
  return device.backend->device().type == DeviceType::cuda;
}

std::string why_in_brackets(const ChosenDevice& device) {
  return device.why.empty() ? std::string() : cat(" (", device.why, ")");
}

std::string memory_text(std::size_t bytes) {
  return cat(bytes >> 30, " GiB");
}

}  // namespace

ChosenDevice choose_training_device(const Communicator& world, const std::string& wanted) {
  if (world.size() == 1 || wanted == "cpu") return choose_device(wanted);
  // Gradients of several GPUs are summed by NCCL, which this version cannot use yet.
  require<UsageError>(
      wanted != "cuda", "--device cuda on ", world.size(),
      " ranks is missing a library: NCCL, which this version does not use yet; run one rank, or "
      "--device cpu");
  const ChosenDevice device = choose_device(wanted);
  if (!is_on_gpu(device)) return device;
  return {choose_device("cpu").backend, "a GPU is there, but several ranks need NCCL, which is missing"};
}

std::string device_kind(const ChosenDevice& device) {
  return is_on_gpu(device) ? "cuda" : "cpu";
}

std::string device_line(const ChosenDevice& device) {
  const Device place = device.backend->device();
  if (!is_on_gpu(device)) return cat(place, ", backend ", device.backend->name(), why_in_brackets(device));
  const CudaFacts& facts = cuda_facts();
  return cat(place, ' ', facts.devices[static_cast<std::size_t>(place.index)].name, ", ", facts.versions,
             why_in_brackets(device));
}

std::string gpu_line() {
  const CudaFacts& facts = cuda_facts();
  if (!facts.usable())
    return cat("none, missing ", facts.missing, ": ", facts.problem,
               facts.versions.empty() ? "" : cat(" (", facts.versions, ")"));
  std::string text = cat(facts.versions, ", driver for CUDA ", facts.driver);
  for (std::size_t i = 0; i < facts.devices.size(); ++i) {
    const CudaDevice& device = facts.devices[i];
    text += cat("; cuda:", i, ' ', device.name, ", ", memory_text(device.memory), ", compute capability ",
                device.capability);
  }
  return text;
}

}  // namespace ronde::apps
