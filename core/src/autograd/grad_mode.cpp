#include <ronde/core/variable.h>

namespace ronde::inline v0 {
namespace {

thread_local bool recording = true;

}  // namespace

NoGrad::NoGrad() : before_(recording) {
  recording = false;
}

NoGrad::~NoGrad() {
  recording = before_;
}

bool grad_enabled() {
  return recording;
}

}  // namespace ronde::inline v0
