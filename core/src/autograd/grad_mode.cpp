#include <ronde/core/variable.h>

#include <utility>

namespace ronde::inline v0 {
namespace {

thread_local bool recording = true;

}  // namespace

NoGrad::NoGrad() : before_(std::exchange(recording, false)) {}

NoGrad::~NoGrad() {
  recording = before_;
}

EnableGrad::EnableGrad() : before_(std::exchange(recording, true)) {}

EnableGrad::~EnableGrad() {
  recording = before_;
}

bool grad_enabled() {
  return recording;
}

}  // namespace ronde::inline v0
