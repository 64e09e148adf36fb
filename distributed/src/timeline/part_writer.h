/// PartWriter: records this process and streams what happens to its part of a timeline, on a thread that
/// sleeps most of the time. Errors of the disk end the recording, not the training.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <ronde/core/trace_recorder.h>

#include "timeline/event_file.h"

namespace ronde::inline v0 {

struct PartOptions {
  std::string path;
  int process = 0;             ///< the rank
  std::string name;            ///< of the process
  std::int64_t shift = 0;      ///< nanoseconds to add to its clock
  std::int64_t max_bytes = 0;  ///< of the part
  TraceWindow steps = {};
};

class PartWriter {
 public:
  /// Starts recording. IoError.
  explicit PartWriter(PartOptions options);
  ~PartWriter();

  /// Ends the recording; the part is complete.
  void stop();
  /// After `stop`: events that found no place, and why recording ended early; empty: it did not.
  std::int64_t lost() const { return lost_; }
  const std::string& ended_by() const { return ended_by_; }

 private:
  void run();
  void drain();
  void write(const TraceThread& thread, std::span<const TraceEvent> events);
  void name_thread(const TraceThread& thread);
  void append(const std::string& event);
  void end_early(const std::string& reason);

  PartOptions options_;
  EventFile file_;
  TraceRecorder recorder_;
  std::vector<int> named_;  // threads
  std::int64_t lost_ = 0;
  std::string ended_by_;

  std::mutex mutex_;  // guards quit_
  std::condition_variable wake_;
  bool quit_ = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace ronde::inline v0
