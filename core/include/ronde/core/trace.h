/// Trace: what the threads of this process do when, for a timeline (`ronde/distributed/timeline.h`).
///
///     void load(std::int64_t step) {
///       const TraceScope scope("loader", "read rows", {"step", step});
///       ...
///     }
///
/// A scope becomes one event of its thread, from its constructor to its destructor; the scopes of a thread
/// nest. While nobody records it costs the load of one flag; while somebody does, two readings of the clock
/// and a copy of 80 bytes into the thread's own ring: no lock, no allocation, no text is made. Therefore all
/// texts are `const char*` that live for ever: literals, or what `trace_name` returned.
///
/// Thread safety: all of it, from any thread.
#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include <ronde/core/export.h>

namespace ronde::inline v0 {

/// `off`: nobody records; `waiting`: somebody does, but this step is not wanted; `on`: events are kept.
enum class TraceState : int { off, waiting, on };

// One per process, as the threads that are traced are the process's.
RONDE_API extern std::atomic<TraceState> trace_state;

inline bool is_tracing() {
  return trace_state.load(std::memory_order_relaxed) == TraceState::on;
}

/// Something to know about an event: a number or a text.
struct TraceArgument {
  constexpr TraceArgument() = default;
  constexpr TraceArgument(const char* name, std::integral auto number)
      : key(name), value(static_cast<std::int64_t>(number)) {}
  constexpr TraceArgument(const char* name, const char* words) : key(name), text(words) {}

  const char* key = nullptr;  ///< nullptr: there is none
  std::int64_t value = 0;
  const char* text = nullptr;  ///< instead of `value` unless nullptr
};

/// One event; times in nanoseconds of the steady clock.
struct TraceEvent {
  const char* category = nullptr;
  const char* name = nullptr;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  TraceArgument first, second;
};

class RONDE_API TraceScope {
 public:
  TraceScope(const char* category, const char* name, TraceArgument first = {}, TraceArgument second = {}) {
    if (is_tracing()) begin(category, name, first, second);
  }
  ~TraceScope() {
    if (is_open_) end();
  }
  TraceScope(const TraceScope&) = delete;
  TraceScope& operator=(const TraceScope&) = delete;

 private:
  void begin(const char* category, const char* name, TraceArgument first, TraceArgument second);
  void end();

  bool is_open_ = false;
  union {
    TraceEvent event_;  // once open
  };
};

/// The forward pass of the layer with this path: a scope, and the layer to which the operations recorded
/// meanwhile belong in the backward pass. With an empty path: of a whole net, to which none belong.
class RONDE_API TraceLayer {
 public:
  explicit TraceLayer(const std::string& path) {
    if (is_tracing()) begin(path);
  }
  ~TraceLayer() {
    if (is_open_) end();
  }
  TraceLayer(const TraceLayer&) = delete;
  TraceLayer& operator=(const TraceLayer&) = delete;
  /// Of the innermost one on this thread; nullptr outside of any.
  static const char* current();

 private:
  void begin(const std::string& path);
  void end();

  bool is_open_ = false;
  std::int64_t begin_ = 0;
  const char* layer_ = nullptr;
  const char* before_ = nullptr;
};

/// While it lives, collectives that this thread starts carry the argument where they run, on another thread.
class RONDE_API TraceTag {
 public:
  explicit TraceTag(TraceArgument tag);
  ~TraceTag();
  TraceTag(const TraceTag&) = delete;
  TraceTag& operator=(const TraceTag&) = delete;
  static TraceArgument current();

 private:
  TraceArgument before_;
};

/// A copy of `text` that lives for ever, the same one for equal texts. Takes a lock.
RONDE_API const char* trace_name(std::string_view text);
/// Names the calling thread in timelines; `name` lives for ever.
RONDE_API void name_trace_thread(const char* name);
/// Says that step `step` of the training (from 1) begins, for a recorder that wants some steps only.
RONDE_API void begin_trace_step(std::int64_t step);

/// That, and a scope for all that the step does, its wait for a batch too: what `ronde report` sums up of a
/// timeline. `Model::fit` has one for each step; so should a loop of one's own.
///
///     for (std::int64_t step = 1; step <= steps; ++step) {
///       const TraceStep traced(step);
///       const Batch* batch = loader.next();
///       ...
///     }
class RONDE_API TraceStep {
 public:
  explicit TraceStep(std::int64_t step) : scope_("step", "step", begin(step)) {}

 private:
  static TraceArgument begin(std::int64_t step) {
    begin_trace_step(step);
    return {"step", step};
  }

  TraceScope scope_;
};

}  // namespace ronde::inline v0
