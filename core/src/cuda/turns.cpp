#include "cuda/turns.h"

namespace ronde::inline v0::cuda {

using Kind = InThread::Kind;

Turn::Turn(Turns& turns) : turns_(turns) {
  if (InThread::find(&turns, Kind::turn)) return;
  std::unique_lock lock(turns.mutex_);
  turns.changed_.wait(lock, [&] { return !turns.is_captured_; });
  ++turns.working_;
  own_.emplace(&turns, Kind::turn, nullptr);
}

Turn::~Turn() {
  if (!own_) return;
  const std::lock_guard lock(turns_.mutex_);
  --turns_.working_;
  if (turns_.is_captured_) turns_.changed_.notify_all();
}

// Who comes first keeps others from beginning, and waits for those that have begun.
CaptureTurn::CaptureTurn(Turns& turns) : turns_(turns) {
  if (InThread::find(&turns, Kind::turn)) return;
  std::unique_lock lock(turns.mutex_);
  turns.changed_.wait(lock, [&] { return !turns.is_captured_; });
  turns.is_captured_ = true;
  turns.changed_.wait(lock, [&] { return turns.working_ == 0; });
  own_.emplace(&turns, Kind::turn, nullptr);
}

CaptureTurn::~CaptureTurn() {
  if (!own_) return;
  const std::lock_guard lock(turns_.mutex_);
  turns_.is_captured_ = false;
  turns_.changed_.notify_all();
}

}  // namespace ronde::inline v0::cuda
