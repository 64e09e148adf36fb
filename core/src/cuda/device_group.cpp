#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <ronde/core/device_group.h>
#include <ronde/core/error.h>
#include <ronde/core/storage.h>

#include "cuda/cuda_backend.h"
#include "cuda/group_windows.h"
#include "cuda/status.h"
#include "cuda/wait.h"

namespace ronde::inline v0 {

using cuda::CudaBackend;
using cuda::GroupCall;
using cuda::Outcome;
using cuda::Status;

namespace {

CudaBackend* gpu_of(Backend& backend) {
  return dynamic_cast<CudaBackend*>(&backend);
}

cuda::Collectives& collectives_of(Backend& backend) {
  const std::string obstacle = DeviceGroup::obstacle(backend);
  require<UsageError>(obstacle.empty(), "[nccl] ", obstacle);
  return *gpu_of(backend)->runtime().collectives();
}

}  // namespace

struct DeviceGroup::State {
  State(CudaBackend& backend_in, cuda::Collectives& collectives_in)
      : backend(backend_in), runtime(backend_in.runtime()), collectives(collectives_in) {
    cuda::check(runtime.create_stream(&stream), "a stream for the ranks");
    cuda::check(runtime.create_event(&ready), "an event for the ranks");
    windows.emplace(backend, collectives, stream);
  }
  ~State() {
    for (cuda::Event event : events) runtime.destroy_event(event);
    runtime.destroy_event(ready);
    runtime.destroy_stream(stream);
  }

  cuda::Event take_event() {
    const std::lock_guard lock(events_mutex);
    cuda::Event event = nullptr;
    if (events.empty()) {
      cuda::check(runtime.create_event(&event), "an event for the ranks");
    } else {
      event = events.back();
      events.pop_back();
    }
    return event;
  }

  void give_back(cuda::Event event) {
    const std::lock_guard lock(events_mutex);
    events.push_back(event);
  }

  void fail(const std::string& why) {
    {
      const std::lock_guard lock(mutex);
      if (!problem.empty()) return;
      problem = why;
      // First this: what is aborted ends without its numbers, and no wait may take that for success.
      runtime.give_up(problem.c_str());
      has_failed = true;
    }
    // Who waits is told meanwhile.
    if (group) collectives.cancel(group);
  }

  /// `doing`, if it is given, is part of the error: the watchdog, which may hear first that another rank gave
  /// up, does not know what for.
  void require_alive(const char* doing = nullptr) {
    if (!has_failed) return;
    const std::lock_guard lock(mutex);
    const bool is_said = !doing || problem.find(doing) != std::string::npos;
    throw Error(is_said ? problem : cat("[nccl] ", doing, ": ", problem));
  }

  /// Until the library has done on the host what it was asked for; or somebody has ended it.
  void wait_for_library(const char* doing) {
    for (cuda::Pauses pauses;; pauses.pause()) {
      require_alive(doing);
      const Status status = collectives.progress(group);
      if (status.ok()) return;
      if (status.outcome != Outcome::not_ready) fail(cat("[nccl] ", doing, ": ", status.text));
    }
  }

  CudaBackend& backend;
  cuda::Runtime& runtime;
  cuda::Collectives& collectives;
  cuda::Group group = nullptr;
  cuda::Stream stream = nullptr;
  cuda::Event ready = nullptr;  // what the backend was given before a call
  std::optional<cuda::GroupWindows> windows;
  std::mutex events_mutex;
  std::vector<cuda::Event> events;  // that nobody uses
  std::mutex mutex;
  std::string problem;
  std::atomic<bool> has_failed = false;
};

namespace {

template <class State>
class StartedCall final : public DeviceGroup::Started {
 public:
  StartedCall(std::shared_ptr<State> state, DeviceGroup::Call call)
      : state_(std::move(state)),
        call_(std::move(call)),
        event_(state_->take_event()),
        captured_(state_->backend.is_capturing()) {}
  /// Memory of the tensors may go to somebody else now, who has to come after the call.
  ~StartedCall() override {
    if (!joined_ && is_of_this_time()) {
      const cuda::Turn turn(state_->backend.turns());
      state_->runtime.wait(state_->backend.stream(), event_);
    }
    note_result();
    state_->give_back(event_);
  }
  void join() override {
    state_->require_alive();
    if (joined_ || !is_of_this_time()) return;
    const cuda::Turn turn(state_->backend.turns());
    cuda::check(state_->runtime.wait(state_->backend.stream(), event_), "waiting for the ranks");
    joined_ = true;
    note_result();
  }
  bool done() override {
    state_->require_alive();
    const Status status = state_->runtime.query(event_);
    if (status.outcome != Outcome::not_ready) cuda::check(status, "running");
    return status.ok();
  }
  void wait() override {
    for (cuda::Pauses pauses; !done(); pauses.pause()) {
    }
  }
  cuda::Event event() const { return event_; }
  void needs_no_join() { joined_ = true; }
  /// From here on what is read may have been written by the call, or not.
  void note_result() {
    if (call_.out.defined() && call_.out.count() > 0)
      state_->backend.rounded_copies().written(call_.out.raw(), call_.out.byte_size());
  }

 private:
  /// A call of a capture that was given up has not run and never will.
  bool is_of_this_time() const { return captured_ == state_->backend.is_capturing(); }

  std::shared_ptr<State> state_;
  DeviceGroup::Call call_;
  cuda::Event event_;
  bool captured_;
  bool joined_ = false;
};

/// In a step that is repeated as a graph, which contains it.
class LeftOut final : public DeviceGroup::Started {
 public:
  void join() override {}
  bool done() override { return true; }
  void wait() override {}
};

}  // namespace

std::string DeviceGroup::obstacle(Backend& backend) {
  CudaBackend* gpu = gpu_of(backend);
  if (!gpu) return cat("backend ", backend.name(), " is no GPU");
  return gpu->runtime().collectives() ? "" : "this module cannot join ranks: NCCL is missing";
}

std::string DeviceGroup::hardware(Backend& backend) {
  const cuda::DeviceFacts& facts = gpu_of(backend)->runtime().facts();
  return cat(facts.name, ' ', facts.id);
}

std::string DeviceGroup::make_id(Backend& backend) {
  cuda::GroupId id;
  cuda::check(collectives_of(backend).make_id(&id), "a group of ranks");
  return {id.bytes.begin(), id.bytes.end()};
}

DeviceGroup::DeviceGroup(Backend& backend, const std::string& id, int rank, int size) {
  cuda::Collectives& collectives = collectives_of(backend);
  state_ = std::make_shared<State>(*gpu_of(backend), collectives);
  cuda::GroupId bytes;
  require(id.size() == bytes.bytes.size(), "[nccl] an id of ", id.size(), " bytes");
  std::copy(id.begin(), id.end(), bytes.bytes.begin());
  const Status status = collectives.join(bytes, rank, size, &state_->group);
  require(status.ok() || status.outcome == Outcome::not_ready, "[nccl] joining the ranks: ", status.text);
  state_->wait_for_library("joining the ranks");
}

DeviceGroup::~DeviceGroup() {
  State& state = *state_;
  // While an error unwinds, the other ranks may never come to the end of what is under way.
  if (std::uncaught_exceptions() > 0 && !state.has_failed) state.collectives.cancel(state.group);
  if (std::uncaught_exceptions() == 0 && !state.has_failed) cuda::wait_for(state.runtime, state.stream);
  state.windows->close(state.group);
  const bool has_ended = state.collectives.leave(std::exchange(state.group, nullptr)).ok();
  if (has_ended) state.windows->collect(nullptr);
}

bool DeviceGroup::leaves_out() const {
  return state_->backend.leaves_out();
}

bool DeviceGroup::is_capturing() const {
  return state_->backend.is_capturing();
}

std::shared_ptr<DeviceGroup::Started> DeviceGroup::start(const Call& call) {
  State& state = *state_;
  state.require_alive();
  if (leaves_out()) return std::make_shared<LeftOut>();
  require<UsageError>(call.in.is_contiguous() && call.out.is_contiguous(),
                      "[nccl] expects tensors without gaps");
  auto started = std::make_shared<StartedCall<State>>(state_, call);
  const cuda::Turn turn(state.backend.turns());
  state.backend.join_streams();
  cuda::check(state.runtime.record(state.ready, state.backend.stream()), "starting an exchange of the ranks");
  cuda::check(state.runtime.wait(state.stream, state.ready), "starting an exchange of the ranks");
  const GroupCall what{.verb = static_cast<cuda::GroupVerb>(call.verb),
                       .reduction = static_cast<cuda::GroupReduction>(call.combine),
                       .dtype = call.in.dtype(),
                       .root = call.root,
                       .in = call.in.count() > 0 ? call.in.raw() : nullptr,
                       .out = call.out.count() > 0 ? call.out.raw() : nullptr,
                       .count = std::min(call.in.count(), call.out.count())};
  if (what.count > 0) {
    const Status status = state.collectives.enqueue(state.group, what, state.stream);
    if (status.outcome == Outcome::not_ready)
      state.wait_for_library("an exchange of the ranks");
    else
      cuda::check(status, "an exchange of the ranks");
  }
  cuda::check(state.runtime.record(started->event(), state.stream), "starting an exchange of the ranks");
  started->note_result();
  return started;
}

std::shared_ptr<DeviceGroup::Started> DeviceGroup::mark() {
  State& state = *state_;
  state.require_alive();
  auto started = std::make_shared<StartedCall<State>>(state_, Call{});
  started->needs_no_join();
  const cuda::Turn turn(state.backend.turns());
  cuda::check(state.runtime.record(state.ready, state.stream), "marking a step");
  cuda::check(state.runtime.wait(state.backend.stream(), state.ready), "marking a step");
  cuda::check(state.runtime.record(started->event(), state.backend.stream()), "marking a step");
  return started;
}

std::shared_ptr<void> DeviceGroup::window_memory(std::size_t bytes) {
  void* memory = bytes > 0 ? state_->windows->allocate(state_->group, bytes) : nullptr;
  if (!memory) return nullptr;
  return {memory, [state = state_](void* gone) { state->windows->release(state->group, gone); }};
}

Tensor DeviceGroup::enrolled_zeros(const Shape& shape, TensorOptions options,
                                   const std::shared_ptr<void>& window) {
  options.backend = &state_->backend;
  return window ? zeros_in_window(shape, options, window) : zeros_enrolled_here(shape, options);
}

Tensor DeviceGroup::zeros_in_window(const Shape& shape, TensorOptions options,
                                    const std::shared_ptr<void>& window) {
  constexpr const char* doing = "opening a window for all ranks (RONDE_NCCL_WINDOWS=off does without)";
  State& state = *state_;
  const std::size_t bytes = static_cast<std::size_t>(shape.count()) * size_of(options.dtype);
  state.require_alive(doing);
  const Status status = state.windows->open(state.group, window.get(), bytes);
  if (!status.ok() && status.outcome != Outcome::not_ready)
    state.fail(cat("[nccl] ", doing, ": ", status.text));
  state.wait_for_library(doing);
  const Tensor zeros = Tensor::over(std::make_shared<Storage>(state.backend, window.get(), bytes, window),
                                    shape, options.dtype);
  zeros.fill(0.0);
  return zeros;
}

Tensor DeviceGroup::zeros_enrolled_here(const Shape& shape, TensorOptions options) {
  const Tensor own = Tensor::zeros(shape, options);
  void* handle = nullptr;
  if (own.count() == 0) return own;
  // Where memory cannot be registered, sums take a copy more: no reason to stop.
  if (!state_->collectives.enroll(state_->group, own.raw(), own.byte_size(), &handle).ok()) return own;
  const auto keep = std::shared_ptr<const void>(handle, [state = state_, own](void* enrolled) {
    if (state->group) state->collectives.withdraw(state->group, enrolled);
  });
  return Tensor::over(std::make_shared<Storage>(state_->backend, own.raw(), own.byte_size(), keep), shape,
                      options.dtype);
}

bool DeviceGroup::poll() {
  State& state = *state_;
  if (state.has_failed) return false;
  const Status status = state.collectives.progress(state.group);
  if (status.ok() || status.outcome == Outcome::not_ready) return true;
  state.fail(cat("[nccl] an exchange of the ranks: ", status.text));
  return false;
}

void DeviceGroup::give_up(const std::string& why) {
  state_->fail(why);
}

std::string DeviceGroup::problem() const {
  const std::lock_guard lock(state_->mutex);
  return state_->problem;
}

}  // namespace ronde::inline v0
