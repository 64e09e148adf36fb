// The fake as a module. `$RONDE_FAKE_CUDA` says what is there: "seed=7 devices=2", "no-driver", "no-device",
// "no-kernels=1" (none for the second GPU), "no-nccl", "no-engines", "no-bfloat16", "hang-exchange=12".
#include <cstdlib>
#include <cstring>
#include <string>

#include "cuda/fake/fake_runtime.h"
#include "cuda/module.h"

namespace ronde::test {
namespace {

std::string setting() {
  const char* text = std::getenv("RONDE_FAKE_CUDA");
  return text ? text : "";
}

std::int64_t number(const std::string& name, std::int64_t otherwise) {
  const std::string text = setting();
  const std::size_t at = text.find(name + "=");
  return at == std::string::npos ? otherwise : std::atoll(text.c_str() + at + name.size() + 1);
}

bool has(const char* word) {
  return setting().find(word) != std::string::npos;
}

cuda::Status look(cuda::ModuleFacts* facts) {
  std::strncpy(facts->versions, "fake CUDA 0.0", sizeof facts->versions - 1);
  if (has("no-driver"))
    return {cuda::Outcome::unsupported, "libcuda.so.1 is not there or older than what CUDA 0.0 needs"};
  facts->driver = 13000;
  if (has("no-device")) return {cuda::Outcome::unsupported, "no CUDA-capable device is detected"};
  facts->devices = static_cast<int>(number("devices", 1));
  if (has("no-nccl")) std::strncpy(facts->no_collectives, "it cannot be used: no libnccl.so.2", 64);
  return {};
}

FakeOptions options(int device = 0) {
  return {.seed = static_cast<std::uint64_t>(number("seed", 1)),
          .failing_launch = number("fail", 0),
          .hanging_launch = number("hang", 0),
          .failing_exchange = number("fail-exchange", 0),
          .hanging_exchange = number("hang-exchange", 0),
          .id = "fake:" + std::to_string(device),
          .has_engines = !has("no-engines"),
          .plans_bfloat16 = !has("no-bfloat16")};
}

cuda::Status describe(int device, cuda::DeviceFacts* facts) {
  *facts = FakeRuntime({.memory = std::size_t{1} << 20, .id = options(device).id}).facts();
  facts->memory = options().memory;
  if (number("no-kernels", -1) == device) facts->major = 7;
  return {};
}

cuda::Status open(int device, cuda::Runtime** runtime) {
  if (number("no-kernels", -1) == device)
    return {cuda::Outcome::unsupported,
            "Ronde's kernels, built for compute capability 9.0, do not run on it: "
            "no kernel image is available for execution on the device"};
  *runtime = new FakeRuntime(options(device));
  return {};
}

void close(cuda::Runtime* runtime) {
  delete runtime;
}

}  // namespace
}  // namespace ronde::test

extern "C" __attribute__((visibility("default"))) const ronde::cuda::Module* ronde_cuda_module() {
  static const ronde::cuda::Module module{.look = ronde::test::look,
                                          .describe = ronde::test::describe,
                                          .open = ronde::test::open,
                                          .close = ronde::test::close};
  return &module;
}
