#include <ronde/core/cuda.h>

#include <map>
#include <memory>
#include <mutex>

#include <ronde/core/error.h>

#include "cuda/backend_options.h"
#include "cuda/cuda_backend.h"
#include "cuda/module_file.h"

namespace ronde::inline v0 {

namespace {

using cuda::ModuleFacts;

std::string version_text(int version) {
  return version == 0 ? std::string() : cat(version / 1000, '.', version % 1000 / 10);
}

CudaDevice describe(const cuda::Module& module, int index) {
  cuda::DeviceFacts facts;
  if (!module.describe(index, &facts).ok()) return {};
  return {facts.name, cat(facts.major, '.', facts.minor), facts.multiprocessors, facts.memory, facts.id};
}

CudaFacts look(const cuda::OpenedModule& opened) {
  CudaFacts facts;
  facts.module = opened.path;
  facts.problem = opened.problem;
  facts.missing = opened.is_library_missing ? CudaPart::library : CudaPart::module;
  if (!opened.module) return facts;
  ModuleFacts found;
  const cuda::Status status = opened.module->look(&found);
  facts.versions = found.versions;
  facts.no_collectives = found.no_collectives;
  facts.driver = version_text(found.driver);
  for (int i = 0; i < found.devices; ++i) facts.devices.push_back(describe(*opened.module, i));
  facts.missing = CudaPart::nothing;
  if (status.ok() && found.devices > 0) return facts;
  const bool has_driver = found.driver > 0;
  facts.missing = has_driver ? CudaPart::device : CudaPart::driver;
  const char* why = status.ok() ? "CUDA sees none" : status.text;
  facts.problem = has_driver ? cat("there is no GPU that this process may use: ", why)
                             : cat("there is no usable NVIDIA driver: ", why);
  return facts;
}

/// A GPU in use, or why it cannot be.
struct StartedGpu {
  std::unique_ptr<cuda::CudaBackend> backend;
  std::string problem;
};

/// The module, once opened, and what was made with it. One for the process: a driver is one too.
struct Gpus {
  cuda::OpenedModule opened = cuda::open_module();
  CudaFacts facts = look(opened);
  std::mutex mutex;
  std::map<int, StartedGpu> started;
};

Gpus& gpus() {
  // Never destroyed: a tensor in a static variable may give its memory back after `main`.
  static auto* all = new Gpus;
  return *all;
}

StartedGpu start(const Gpus& all, int index) {
  const cuda::CudaBackendOptions options = cuda::options_of_environment(index);
  const CudaDevice& device = all.facts.devices[static_cast<std::size_t>(index)];
  const std::string which =
      cat("GPU ", index, " (", device.name, ", compute capability ", device.capability, ") cannot be used: ");
  cuda::Runtime* runtime = nullptr;
  const cuda::Status status = all.opened.module->open(index, &runtime);
  if (!status.ok()) return {nullptr, which + status.text};
  try {
    return {std::make_unique<cuda::CudaBackend>(*runtime, options), ""};
  } catch (const Error& error) {
    all.opened.module->close(runtime);
    return {nullptr, which + error.what()};
  }
}

/// Started on the first call. A UsageError where there is nothing to start.
const StartedGpu& started_gpu(int index) {
  Gpus& all = gpus();
  require<UsageError>(all.facts.usable(), "[cuda] missing ", all.facts.missing, ": ", all.facts.problem);
  const auto count = static_cast<int>(all.facts.devices.size());
  require<UsageError>(index >= 0 && index < count, "[cuda] there is no GPU ", index, ", only ", count);
  const std::lock_guard lock(all.mutex);
  const auto found = all.started.find(index);
  return found != all.started.end() ? found->second
                                    : all.started.emplace(index, start(all, index)).first->second;
}

}  // namespace

std::string to_string(CudaPart part) {
  switch (part) {
    case CudaPart::module:
      return "module";
    case CudaPart::library:
      return "library";
    case CudaPart::driver:
      return "driver";
    case CudaPart::device:
      return "device";
    case CudaPart::nothing:
      break;
  }
  return "nothing";
}

const CudaFacts& cuda_facts() {
  return gpus().facts;
}

Backend& cuda_backend(int index) {
  const StartedGpu& gpu = started_gpu(index);
  require<UsageError>(gpu.backend != nullptr, "[cuda] ", gpu.problem);
  return *gpu.backend;
}

std::string cuda_obstacle(int index) {
  return started_gpu(index).problem;
}

ChosenDevice choose_device(const std::string& name, int index) {
  require<UsageError>(name == "auto" || name == "cpu" || name == "cuda",
                      "[device] expects auto, cpu or cuda, got \"", name, '"');
  if (name == "cpu") return {&default_backend(), ""};
  if (name == "auto" && !cuda::is_worth_opening())
    return {&default_backend(), "no GPU: libcuda.so.1 of an NVIDIA driver was not found"};
  const CudaFacts& facts = cuda_facts();
  if (name == "auto" && !facts.usable())
    return {&default_backend(), facts.missing == CudaPart::module && facts.module.empty()
                                    ? "no GPU: this installation has no libronde_cuda.so"
                                    : cat("no GPU: ", facts.problem)};
  const auto count = static_cast<int>(facts.devices.size());
  const int chosen = count > 0 ? index % count : 0;
  if (name == "cuda") return {&cuda_backend(chosen), ""};
  const std::string obstacle = cuda_obstacle(chosen);
  if (!obstacle.empty()) return {&default_backend(), cat("no GPU: ", obstacle)};
  return {&cuda_backend(chosen), "a GPU is usable"};
}

void use_deterministic_engines(Backend& backend) {
  if (auto* gpu = dynamic_cast<cuda::CudaBackend*>(&backend)) gpu->use_engines(cuda::Engines::deterministic);
}

void use_repeatable_engines(Backend& backend) {
  auto* gpu = dynamic_cast<cuda::CudaBackend*>(&backend);
  if (gpu && gpu->engines() == cuda::Engines::fastest) gpu->use_engines(cuda::Engines::tuned);
}

std::vector<std::string> take_detours(Backend& backend) {
  auto* gpu = dynamic_cast<cuda::CudaBackend*>(&backend);
  return gpu ? gpu->detours().take_news() : std::vector<std::string>();
}

Tensor on_host(const Tensor& tensor) {
  return tensor.backend().device().type == DeviceType::cpu ? tensor : tensor.to(default_backend());
}

}  // namespace ronde::inline v0
