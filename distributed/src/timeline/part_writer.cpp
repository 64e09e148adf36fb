#include "timeline/part_writer.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <ronde/core/counted.h>
#include <ronde/core/error.h>
#include <ronde/core/signals.h>

#include "timeline/event_text.h"

namespace ronde::inline v0 {
namespace {

constexpr auto kPause = std::chrono::milliseconds(100);
constexpr std::int64_t kReserve = 1024;  // bytes for what ends a part that is full

std::string header(const PartOptions& options) {
  return cat("{\"displayTimeUnit\":\"ms\",\"otherData\":{\"made by\":\"Ronde\",\"part\":", options.process,
             "},\"traceEvents\":[");
}

}  // namespace

PartWriter::PartWriter(PartOptions options)
    : options_(std::move(options)), file_(options_.path, header(options_)), recorder_(options_.steps) {
  { const TraceScope first("timeline", "recording begins"); }  // so that this thread's row is the first one
  append(process_name_event(options_.process, options_.name));
  file_.flush();
  thread_ = std::thread([this] { run(); });
}

PartWriter::~PartWriter() {
  stop();
}

void PartWriter::run() {
  block_signals();
  std::unique_lock lock(mutex_);
  while (!quit_) {
    // Through the system clock, whose timed wait ThreadSanitizer of gcc 12 can follow.
    wake_.wait_until(lock, std::chrono::system_clock::now() + kPause, [this] { return quit_; });
    lock.unlock();
    drain();
    lock.lock();
  }
  lock.unlock();
  drain();  // what came before the recording ended
}

void PartWriter::stop() {
  if (!thread_.joinable()) return;
  recorder_.stop();
  {
    const std::lock_guard lock(mutex_);
    quit_ = true;
  }
  wake_.notify_one();
  thread_.join();
  try {
    file_.close();
  } catch (const std::exception& error) {
    end_early(error.what());
  }
}

void PartWriter::drain() {
  try {
    recorder_.drain([this](const TraceThread& thread, std::span<const TraceEvent> events) {
      if (ended_by_.empty()) write(thread, events);
    });
    file_.flush();
  } catch (const std::exception& error) {
    end_early(error.what());
  }
}

void PartWriter::write(const TraceThread& thread, std::span<const TraceEvent> events) {
  name_thread(thread);
  if (thread.lost > 0) {
    lost_ += thread.lost;
    append(mark_event(cat(counted(thread.lost, "event"), " lost: too many at once"), options_.process,
                      trace_clock() + options_.shift));
  }
  for (const TraceEvent& event : events) {
    if (!ended_by_.empty()) return;
    append(complete_event(event, options_.process, thread.id, options_.shift));
  }
}

void PartWriter::name_thread(const TraceThread& thread) {
  if (std::find(named_.begin(), named_.end(), thread.id) != named_.end()) return;
  named_.push_back(thread.id);
  const char* name = thread.name != nullptr ? thread.name : thread.id == 0 ? "main" : "thread";
  append(thread_name_event(options_.process, thread.id, name));
}

void PartWriter::append(const std::string& event) {
  if (file_.size() + std::ssize(event) + kReserve <= options_.max_bytes) return file_.append(event);
  end_early(cat("the limit of ", options_.max_bytes >> 20, " MB for this rank is reached"));
  file_.append(mark_event("recording ended: " + ended_by_, options_.process, trace_clock() + options_.shift));
}

void PartWriter::end_early(const std::string& reason) {
  recorder_.stop();
  ended_by_ = reason;
}

}  // namespace ronde::inline v0
