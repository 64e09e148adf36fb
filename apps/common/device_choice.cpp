#include "common/device_choice.h"

#include <ronde/core/backend.h>
#include <ronde/core/counted.h>

namespace ronde::apps {
namespace {

bool is_on_gpu(const ChosenDevice& device) {
  return device.backend->device().type == DeviceType::cuda;
}

std::string why_in_brackets(const ChosenDevice& device) {
  return device.why.empty() ? std::string() : cat(" (", device.why, ")");
}

// Why this rank of several cannot train on the GPU that was chosen for it; empty: it can.
std::string obstacle_on(const Communicator& world, const ChosenDevice& device) {
  if (!is_on_gpu(device)) return device.why;
  const CudaFacts& facts = cuda_facts();
  if (!facts.no_collectives.empty())
    return cat("a GPU is there, but several ranks need NCCL, and ", facts.no_collectives);
  const auto gpus = static_cast<int>(facts.devices.size());
  return gpus == 1 || gpus >= world.local_size()
             ? ""
             : cat(gpus, " GPUs are too few for ", counted(world.local_size(), "rank"));
}

// All on GPUs, or none. Throws on no rank, because the others wait for it.
ChosenDevice choose_for_all(Communicator& world) {
  ChosenDevice device;
  std::string obstacle;
  try {
    device = choose_device("auto", world.local_rank());
    obstacle = obstacle_on(world, device);
  } catch (const Error& error) {
    obstacle = error.what();
  }
  std::vector<double> without{obstacle.empty() ? 0.0 : 1.0};
  allreduce_values(world, without);
  if (without[0] == 0.0) return {device.backend, "a GPU is usable on each rank"};
  return {
      choose_device("cpu").backend,
      obstacle.empty() ? cat("no GPU for ", without[0], " of ", counted(world.size(), "rank")) : obstacle};
}

std::string memory_text(std::size_t bytes) {
  return cat(bytes >> 30, " GiB");
}

std::string gpu_text(int index) {
  const std::string obstacle = cuda_obstacle(index);
  if (!obstacle.empty()) return obstacle;
  const CudaDevice& device = cuda_facts().devices[static_cast<std::size_t>(index)];
  return cat("cuda:", index, ' ', device.name, ", ", memory_text(device.memory), ", compute capability ",
             device.capability);
}

}  // namespace

ChosenDevice choose_training_device(Communicator& world, const std::string& wanted) {
  if (world.size() == 1 || wanted == "cpu") return choose_device(wanted, world.local_rank());
  if (wanted == "auto") return choose_for_all(world);
  const ChosenDevice device = choose_device(wanted, world.local_rank());
  require<UsageError>(cuda_facts().no_collectives.empty(), "[cuda] missing library: ", world.size(),
                      " ranks on GPUs need NCCL, and ", cuda_facts().no_collectives);
  return device;
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
  for (std::size_t i = 0; i < facts.devices.size(); ++i) text += cat("; ", gpu_text(static_cast<int>(i)));
  return text;
}

}  // namespace ronde::apps
