#include <optional>

#include <ronde/core/cuda.h>

#include "cuda/captured_step.h"

namespace ronde::inline v0 {

struct RepeatedStep::State {
  std::optional<cuda::CapturedStep> captured;  // empty: the body runs each time
};

bool RepeatedStep::may_capture(const Backend& backend) {
  const auto* gpu = dynamic_cast<const cuda::CudaBackend*>(&backend);
  return gpu != nullptr && gpu->wants_graphs();
}

RepeatedStep::RepeatedStep(Backend& backend) : state_(std::make_unique<State>()) {
  if (may_capture(backend)) state_->captured.emplace(dynamic_cast<cuda::CudaBackend&>(backend));
}

RepeatedStep::~RepeatedStep() = default;
RepeatedStep::RepeatedStep(RepeatedStep&&) noexcept = default;

bool RepeatedStep::run(const std::function<void()>& body, const std::function<void()>& counting,
                       const AroundCapture& around) {
  if (state_->captured) return state_->captured->run(body, counting, around);
  body();
  if (counting) counting();
  return true;
}

bool RepeatedStep::is_captured() const {
  return state_->captured && state_->captured->is_captured();
}

std::string RepeatedStep::fallback() const {
  return state_->captured ? state_->captured->fallback() : std::string();
}

}  // namespace ronde::inline v0
