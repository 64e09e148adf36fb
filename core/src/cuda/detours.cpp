#include "cuda/detours.h"

#include <algorithm>

#include <ronde/core/text.h>
#include <ronde/core/trace.h>

#include "cuda/call_text.h"

namespace ronde::inline v0::cuda {

namespace {

// Layers are known while a timeline is recorded.
std::string place_of(const Call& call) {
  const char* layer = TraceLayer::current();
  return layer ? cat("layer ", layer, ": ", call) : to_string(call);
}

const char* way_of(Detours::Cause cause) {
  switch (cause) {
    case Detours::Cause::design:
      return " of bfloat16 goes by float32 copies, by design: ";
    case Detours::Cause::library:
      return " of bfloat16 goes by float32 copies, refused by a library: ";
    case Detours::Cause::choice:
      return " of bfloat16 goes by float32 copies, by choice: ";
    case Detours::Cause::slow_kernel:
      break;
  }
  return " goes by a kernel that is slow: ";
}

}  // namespace

void Detours::add(const Call& call, Cause cause, const std::string& why) {
  const std::string place = place_of(call);
  const std::lock_guard lock(mutex_);
  auto entry = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) {
    return e.op == call.op && e.cause == cause && e.why == why;
  });
  if (entry == entries_.end()) {
    entry = entries_.insert(entry, {call.op, cause, why, 0, {}});
    has_news_ = true;
  }
  ++entry->calls;
  if (std::find(entry->places.begin(), entry->places.end(), place) == entry->places.end())
    entry->places.push_back(place);
}

std::vector<Detours::Entry> Detours::entries() const {
  const std::lock_guard lock(mutex_);
  return entries_;
}

std::vector<std::string> Detours::take_news() {
  std::vector<std::string> lines;
  if (!has_news_) return lines;
  const std::lock_guard lock(mutex_);
  for (; told_ < entries_.size(); ++told_) lines.push_back(to_string(entries_[told_]));
  has_news_ = false;
  return lines;
}

std::string to_string(const Detours::Entry& entry) {
  const char* way = way_of(entry.cause);
  const std::string more =
      entry.places.size() > 1 ? cat(", and ", entry.places.size() - 1, " more like it") : std::string();
  return cat(entry.op, way, entry.why, " (", entry.places.front(), more, ")");
}

}  // namespace ronde::inline v0::cuda
