#include <cstdlib>
#include <optional>
#include <string_view>

#include <ronde/core/cuda.h>

#include "cuda/captured_step.h"

namespace ronde::inline v0 {

namespace {

bool is_wanted() {
  const char* setting = std::getenv("RONDE_CUDA_GRAPHS");
  const std::string_view graphs = setting && *setting ? setting : "on";
  require<UsageError>(graphs == "on" || graphs == "off",
                      "[cuda] $RONDE_CUDA_GRAPHS expects on or off, got \"", graphs, '"');
  return graphs == "on";
}

}  // namespace

struct RepeatedStep::State {
  std::optional<cuda::CapturedStep> captured;  // empty: the body runs each time
};

RepeatedStep::RepeatedStep(Backend& backend) : state_(std::make_unique<State>()) {
  auto* gpu = dynamic_cast<cuda::CudaBackend*>(&backend);
  if (gpu && is_wanted()) state_->captured.emplace(*gpu);
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
