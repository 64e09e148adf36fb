#include <ronde/models/uploader.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <list>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

#include <ronde/core/signals.h>
#include <ronde/core/trace.h>
#include <ronde/models/save_point.h>

#include "files/upload_target.h"

namespace ronde::inline v0 {

namespace {

using Clock = std::chrono::steady_clock;
constexpr double kLongestPause = 60.0;                 // seconds
constexpr std::chrono::milliseconds kLastMoment{500};  // for a killed command to be gone

std::string absolute(const std::string& path) {
  std::error_code error;
  const std::filesystem::path found = std::filesystem::absolute(path, error);
  return error ? path : found.lexically_normal().string();
}

/// Of `file` below `root`, both absolute.
std::string name_below(const std::string& root, const std::string& file) {
  const std::filesystem::path relative = std::filesystem::path(file).lexically_relative(root);
  const bool is_below = !root.empty() && !relative.empty() && *relative.begin() != "..";
  return is_below ? relative.string() : std::filesystem::path(file).filename().string();
}

}  // namespace

struct Uploader::State {
  struct Waiting {
    std::string path;
    Clock::time_point due = {};
    double pause = 0.0;  // after the last failure, seconds
  };

  explicit State(UploadOptions wanted)
      : options(std::move(wanted)),
        target(options.target, options.timeout),
        root(options.root.empty() ? "" : absolute(options.root)) {}

  void add(Waiting entry);
  std::list<Waiting>::iterator newest_due(Clock::time_point now);
  void sleep(std::unique_lock<std::mutex>& lock);
  void upload_all();
  void settle(Waiting entry, const std::string& problem, std::unique_lock<std::mutex>& lock);
  void warn(const std::string& text, std::unique_lock<std::mutex>& lock);
  void start_thread(const std::shared_ptr<State>& self);
  UploadReport report() const;

  const UploadOptions options;
  const UploadTarget target;
  const std::string root;
  std::atomic<bool> give_up = false;

  std::mutex mutex;  // of all below
  std::condition_variable changed;
  std::list<Waiting> waiting;  // the oldest first
  std::optional<Waiting> in_flight;
  bool has_thread = false;
  bool is_failing = false;
  bool is_warning = false;  // of what has failed
  std::int64_t uploaded = 0, passed_over = 0;
  std::string problem;
};

void Uploader::State::add(Waiting entry) {
  waiting.remove_if([&](const Waiting& other) { return other.path == entry.path; });
  waiting.push_back(std::move(entry));
  if (waiting.size() <= options.most_waiting) return;
  waiting.pop_front();
  ++passed_over;
}

std::list<Uploader::State::Waiting>::iterator Uploader::State::newest_due(Clock::time_point now) {
  const auto found =
      std::find_if(waiting.rbegin(), waiting.rend(), [&](const Waiting& entry) { return entry.due <= now; });
  return found == waiting.rend() ? waiting.end() : std::prev(found.base());
}

/// Until something may be done.
void Uploader::State::sleep(std::unique_lock<std::mutex>& lock) {
  if (waiting.empty()) return changed.wait(lock);
  const auto by_due = [](const Waiting& a, const Waiting& b) { return a.due < b.due; };
  changed.wait_until(lock, std::min_element(waiting.begin(), waiting.end(), by_due)->due);
}

void Uploader::State::upload_all() {
  std::unique_lock lock(mutex);
  while (!give_up) {
    const auto next = newest_due(Clock::now());
    if (next == waiting.end()) {
      sleep(lock);
      continue;
    }
    in_flight = *next;
    waiting.erase(next);
    const Waiting entry = *in_flight;
    lock.unlock();
    std::string why;
    {
      const TraceScope scope("checkpoint", "upload");
      why = target.put(entry.path, name_below(root, entry.path), give_up);
    }
    lock.lock();
    in_flight.reset();
    settle(entry, why, lock);
    changed.notify_all();
  }
}

void Uploader::State::settle(Waiting entry, const std::string& why, std::unique_lock<std::mutex>& lock) {
  if (why.empty()) {
    ++uploaded;
    is_failing = false;
    return;
  }
  const auto is_same = [&](const Waiting& other) { return other.path == entry.path; };
  const bool has_newer = std::any_of(waiting.begin(), waiting.end(), is_same);
  std::error_code ignored;
  if (!std::filesystem::exists(entry.path, ignored)) {
    ++passed_over;  // a newer one has taken its place
    return;
  }
  if (!give_up || problem.empty()) problem = why;
  if (!has_newer) {
    entry.pause = std::min(kLongestPause, entry.pause == 0.0 ? options.first_pause : 2.0 * entry.pause);
    entry.due = Clock::now() +
                std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(entry.pause));
    // The oldest, as it was: what came meanwhile stands behind it.
    if (waiting.size() < options.most_waiting || give_up)
      waiting.push_front(entry);
    else
      ++passed_over;
  }
  if (!std::exchange(is_failing, true) && !give_up) warn(cat(entry.path, " is not uploaded: ", why), lock);
}

void Uploader::State::warn(const std::string& text, std::unique_lock<std::mutex>& lock) {
  if (!options.warn) return;
  is_warning = true;
  lock.unlock();
  try {
    options.warn(text);
  } catch (const std::exception&) {
    // Training goes on without it.
  }
  lock.lock();
  is_warning = false;
}

/// If there is none. Where none can be had now, the next offer tries again.
void Uploader::State::start_thread(const std::shared_ptr<State>& self) {
  if (has_thread) return;
  try {
    std::thread([self] {
      block_signals();
      name_trace_thread("uploader");
      self->upload_all();
    }).detach();
    has_thread = true;
  } catch (const std::system_error& error) {
    problem = cat("there is no thread for it: ", error.what());
  }
}

UploadReport Uploader::State::report() const {
  UploadReport report{.uploaded = uploaded, .passed_over = passed_over, .missing = {}, .problem = problem};
  for (const Waiting& entry : waiting) report.missing.push_back(entry.path);
  if (in_flight) report.missing.push_back(in_flight->path);
  return report;
}

Uploader::Uploader(UploadOptions options) : state_(std::make_shared<State>(std::move(options))) {}

Uploader::~Uploader() {
  finish(0.0);
}

void Uploader::prepare() const {
  state_->target.prepare();
  std::error_code error;
  const bool is_itself = !state_->target.is_command() && !state_->root.empty() &&
                         std::filesystem::equivalent(state_->root, state_->options.target, error);
  require<UsageError>(!is_itself, "[uploader] ", state_->options.target, ": is where the files are already");
}

void Uploader::offer(const std::string& path) {
  const std::lock_guard lock(state_->mutex);
  if (state_->give_up) return;
  state_->add({.path = absolute(path)});
  state_->start_thread(state_);
  state_->changed.notify_all();
}

UploadReport Uploader::finish(double seconds) {
  std::unique_lock lock(state_->mutex);
  const auto is_done = [&] { return state_->waiting.empty() && !state_->in_flight; };
  state_->changed.wait_for(lock, std::chrono::duration<double>(seconds), is_done);
  state_->give_up = true;
  state_->changed.notify_all();
  // A command is killed; a file system that hangs is left to its fate.
  state_->changed.wait_for(lock, kLastMoment, [&] { return !state_->in_flight && !state_->is_warning; });
  return state_->report();
}

void Uploader::on_save_point(SavePoint& point) {
  if (is_main_rank()) point.on_written([this](const std::string& path) { offer(path); });
}

}  // namespace ronde::inline v0
