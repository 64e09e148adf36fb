#include <ronde/core/trace.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <unordered_set>
#include <utility>

#include "trace/ring.h"

namespace ronde::inline v0 {
namespace {

thread_local const char* thread_name = nullptr;
thread_local const char* current_layer = nullptr;
thread_local TraceArgument current_tag;

// The ring of this thread, made at its first event. The pointer outlives the owner: a scope may still end
// while the thread's other variables are destroyed.
thread_local TraceRing* own_ring = nullptr;
thread_local bool has_ended = false;

struct RingOwner {
  std::shared_ptr<TraceRing> ring;
  ~RingOwner() {
    own_ring = nullptr;
    has_ended = true;
    if (ring) ring->close();
  }
};

int take_id(TraceRings& all, const char* name) {
  const auto free = std::find_if(all.free_ids.begin(), all.free_ids.end(),
                                 [&](const auto& entry) { return entry.first == name && name != nullptr; });
  if (free == all.free_ids.end()) return all.next_id++;
  const int id = free->second;
  all.free_ids.erase(free);
  return id;
}

void make_ring() {
  thread_local RingOwner owner;
  TraceRings& all = trace_rings();
  const std::lock_guard lock(all.mutex);
  owner.ring = std::make_shared<TraceRing>(take_id(all, thread_name), thread_name);
  all.rings.push_back(owner.ring);
  own_ring = owner.ring.get();
}

void push(const TraceEvent& event) {
  if (own_ring == nullptr) {
    if (has_ended) return;
    make_ring();
  }
  own_ring->push(event);
}

}  // namespace

std::atomic<TraceState> trace_state{TraceState::off};

void TraceScope::begin(const char* category, const char* name, TraceArgument first, TraceArgument second) {
  event_ = {
      .category = category, .name = name, .begin = trace_clock(), .end = 0, .first = first, .second = second};
  is_open_ = true;
}

void TraceScope::end() {
  event_.end = trace_clock();
  push(event_);
}

void TraceLayer::begin(const std::string& path) {
  is_open_ = true;
  layer_ = path.empty() ? nullptr : trace_name(path);
  before_ = std::exchange(current_layer, layer_);
  begin_ = trace_clock();
}

void TraceLayer::end() {
  push({.category = "forward",
        .name = layer_ != nullptr ? layer_ : "forward",
        .begin = begin_,
        .end = trace_clock(),
        .first = {},
        .second = {}});
  current_layer = before_;
}

const char* TraceLayer::current() {
  return current_layer;
}

TraceTag::TraceTag(TraceArgument tag) : before_(std::exchange(current_tag, tag)) {}

TraceTag::~TraceTag() {
  current_tag = before_;
}

TraceArgument TraceTag::current() {
  return current_tag;
}

const char* trace_name(std::string_view text) {
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  struct Names {
    std::mutex mutex;
    std::unordered_set<std::string, Hash, std::equal_to<>> texts;
  };
  static auto& names = *new Names;  // never destroyed: rings may still point to the texts
  const std::lock_guard lock(names.mutex);
  auto found = names.texts.find(text);
  if (found == names.texts.end()) found = names.texts.emplace(text).first;
  return found->c_str();
}

void name_trace_thread(const char* name) {
  thread_name = name;
}

void begin_trace_step(std::int64_t step) {
  if (trace_state.load(std::memory_order_relaxed) == TraceState::off) return;
  TraceRings& all = trace_rings();
  const std::lock_guard lock(all.mutex);
  if (!all.is_recording) return;
  const bool is_wanted = step >= all.window.first_step && step <= all.window.last_step;
  trace_state.store(is_wanted ? TraceState::on : TraceState::waiting, std::memory_order_relaxed);
}

}  // namespace ronde::inline v0
