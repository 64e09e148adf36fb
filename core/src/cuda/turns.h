/// Turns: several threads give a stream something, but none while another one captures it.
///
/// What a stream is given while it is captured becomes part of the graph, whoever gives it. Thread safe.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>

#include "cuda/in_thread.h"

namespace ronde::inline v0::cuda {

class Turns {
 private:
  friend class Turn;
  friend class CaptureTurn;
  std::mutex mutex_;
  std::condition_variable changed_;
  int working_ = 0;
  bool is_captured_ = false;
};

/// While it lives nobody captures but this thread; waits for one who does. Part of another turn of its
/// thread.
class Turn {
 public:
  explicit Turn(Turns& turns);
  ~Turn();
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  Turns& turns_;
  std::optional<InThread> own_;  // empty: part of another
};

/// While it lives only this thread has turns. Part of another of its kind, not of a Turn.
class CaptureTurn {
 public:
  explicit CaptureTurn(Turns& turns);
  ~CaptureTurn();
  CaptureTurn(const CaptureTurn&) = delete;
  CaptureTurn& operator=(const CaptureTurn&) = delete;

 private:
  Turns& turns_;
  std::optional<InThread> own_;
};

}  // namespace ronde::inline v0::cuda
