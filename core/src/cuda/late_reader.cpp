#include <array>

#include <ronde/core/cuda.h>
#include <ronde/core/error.h>
#include <ronde/core/tensor.h>

#include "cuda/cuda_backend.h"
#include "cuda/status.h"
#include "cuda/wait.h"

namespace ronde::inline v0 {

namespace {

cuda::CudaBackend& gpu_to_read_from(Backend& backend) {
  auto* gpu = dynamic_cast<cuda::CudaBackend*>(&backend);
  require<UsageError>(gpu != nullptr, "[cuda] a LateReader reads from a GPU, not from ", backend.name());
  return *gpu;
}

}  // namespace

struct LateReader::State {
  struct Slot {
    void* memory = nullptr;  ///< pinned
    cuda::Event read = nullptr;
  };

  explicit State(cuda::CudaBackend& gpu) : backend(gpu) {}
  ~State();

  Slot& slot(std::size_t number) { return slots[number % kMost]; }

  cuda::CudaBackend& backend;
  std::array<Slot, kMost> slots;
  std::size_t asked = 0, taken = 0;
};

LateReader::State::~State() {
  for (; taken < asked; ++taken) cuda::wait_for(backend.runtime(), slot(taken).read);
  for (const Slot& of : slots) {
    if (of.read) backend.runtime().destroy_event(of.read);
    if (of.memory) backend.runtime().release_pinned(of.memory);
  }
}

LateReader::LateReader(Backend& backend) : state_(std::make_unique<State>(gpu_to_read_from(backend))) {}
LateReader::~LateReader() = default;

std::size_t LateReader::asked() const {
  return state_->asked - state_->taken;
}

void LateReader::ask(const Tensor& scalar) {
  cuda::CudaBackend& backend = state_->backend;
  require<UsageError>(&scalar.backend() == &backend && scalar.dtype() == DType::f64 && scalar.count() == 1,
                      "[cuda] a LateReader reads a scalar of f64 on its GPU");
  require<UsageError>(asked() < kMost, "[cuda] a LateReader was asked ", kMost,
                      " times and nothing was taken");
  State::Slot& slot = state_->slot(state_->asked);
  cuda::Runtime& runtime = backend.runtime();
  if (!slot.memory)
    cuda::check(runtime.allocate_pinned(sizeof(double), &slot.memory), "pinned memory for a scalar");
  if (!slot.read) cuda::check(runtime.create_event(&slot.read), "an event for a scalar");
  const cuda::Turn turn(backend.turns());
  cuda::check(
      runtime.copy(slot.memory, scalar.raw(), sizeof(double), cuda::CopyKind::to_host, backend.stream()),
      "copying from the device");
  cuda::check(runtime.record(slot.read, backend.stream()), "copying from the device");
  ++state_->asked;
}

double LateReader::take() {
  require<UsageError>(asked() > 0, "[cuda] a LateReader was asked for nothing");
  cuda::Runtime& runtime = state_->backend.runtime();
  const State::Slot& slot = state_->slot(state_->taken);
  cuda::check(cuda::wait_for(runtime, slot.read), "running");
  ++state_->taken;
  cuda::check(runtime.complaint(), "a kernel");
  return *static_cast<const double*>(slot.memory);
}

}  // namespace ronde::inline v0
