#include "cuda/in_thread.h"

namespace ronde::inline v0::cuda {

namespace {

thread_local InThread* latest = nullptr;

}  // namespace

InThread::InThread(const void* object, Kind kind, const void* value)
    : object_(object), kind_(kind), value_(value), before_(latest) {
  latest = this;
}

InThread::~InThread() {
  InThread** place = &latest;
  while (*place != this) place = &(*place)->before_;
  *place = before_;
}

const InThread* InThread::find(const void* object, Kind kind) {
  for (const InThread* one = latest; one; one = one->before_)
    if (one->object_ == object && one->kind_ == kind) return one;
  return nullptr;
}

}  // namespace ronde::inline v0::cuda
