/// What the interfaces of a device module have in common: how a call went, and handles.
#pragma once

#include <cstdint>

namespace ronde::inline v0::cuda {

enum class Outcome : std::uint8_t {
  ok,
  not_ready,        ///< of `query` and `progress`: it has not come so far
  out_of_memory,    ///< nothing else happened
  refused,          ///< breaks a rule, as those of capturing; nothing was enqueued
  complaint,        ///< of `complaint`
  unsupported,      ///< this device or library cannot do it; nothing was enqueued
  better_in_float,  ///< of `prepare`: it can, but of float copies of what is bf16 it is better
  failed,           ///< the device is lost to this process
};

struct Status {
  Outcome outcome = Outcome::ok;
  const char* text = "";  ///< why, until the next call of this thread

  bool ok() const { return outcome == Outcome::ok; }
};

// Handles: nullptr is none.
struct StreamTag;
struct EventTag;
struct GraphTag;
struct PlanTag;
using Stream = StreamTag*;
using Event = EventTag*;
using Graph = GraphTag*;
using Plan = PlanTag*;

}  // namespace ronde::inline v0::cuda
