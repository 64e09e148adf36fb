#include "collectives/channel.h"

#include <algorithm>
#include <exception>
#include <utility>

#include <ronde/core/philox.h>

#include "collectives/checks.h"
#include "timeline/traced_collective.h"
#include "transport/rank_left.h"
#include "transport/ranks_text.h"

namespace ronde::inline v0 {
namespace {

std::int64_t hash_of(const std::string& text) {
  return static_cast<std::int64_t>(hash_name(text));
}

// What a meeting without data is for.
std::string verb_of(const Record& record) {
  if (record.kind == Record::Kind::done) return "end of the program";
  if (record.kind == Record::Kind::failure || record.kind == Record::Kind::follower) return "end by an error";
  return record.verb;
}

bool is_in_order(const std::vector<int>& world) {
  return world.back() + 1 == static_cast<int>(world.size()) && std::is_sorted(world.begin(), world.end());
}

// Recorded while it lives.
class Flight {
 public:
  Flight(FlightRecorder::Group& group, RecordedOperation operation) : group_(group) {
    group_.arrive(std::move(operation));
  }
  ~Flight() { group_.leave(); }
  Flight(const Flight&) = delete;
  Flight& operator=(const Flight&) = delete;

 private:
  FlightRecorder::Group& group_;
};

}  // namespace

Channel::Channel(std::unique_ptr<Transport> over, std::shared_ptr<FlightRecorder> in,
                 const std::string& group, std::vector<int> ranks)
    : transport(std::move(over)),
      world(std::move(ranks)),
      recorder(std::move(in)),
      flight(recorder->join(group)) {}

void Channel::meet(const Record& record) {
  const Flight recorded(
      *flight, {.verb = verb_of(record), .name = record.kind == Record::Kind::call ? record.text : ""});
  in_world([&] { wait_for_ranks(record); });
}

// What is said of ranks that are not there any more has the transport's numbers.
template <class F>
void Channel::in_world(F&& f) const {
  try {
    f();
  } catch (const RankLeft& left) {
    throw RankLeft(left.rank(), world[static_cast<std::size_t>(left.rank())]);
  } catch (const RankGone& gone) {
    if (is_in_order(world)) throw;
    throw RankGone(cat(gone.what(), ", as ranks are counted within the set of ", ranks_text(world)));
  }
}

// See Note [Meeting].
void Channel::wait_for_ranks(const Record& record, const Announcement& next) {
  if (closed) throw *closed;
  const TraceScope waiting("meeting", "wait for ranks");
  std::int64_t news = notice.exchange(0);
  const bool is_agreed = transport->meet(hash_of(record.pack()), news, next);
  if (news > told.load(std::memory_order_relaxed)) told.store(news);
  flight->met();
  if (is_agreed && (record.kind == Record::Kind::call || record.kind == Record::Kind::done)) return;
  const std::vector<Record> records = exchange(*transport, record);
  if (const Record* failure = failure_in(records)) {
    closed = CollectiveError(failure->text, static_cast<ExitStatus>(failure->status), failure->rank,
                             world[static_cast<std::size_t>(failure->rank)]);
    throw *closed;
  }
  throw disagreement_in(records, world);
}

void Channel::run(const Record& record, const Collective& call, const TraceArgument& tag, const char* label) {
  const TraceScope scope("communication", traced_name(call), {"bytes", traced_bytes(call)}, tag);
  const Flight recorded(
      *flight, {.verb = verb_of(call), .name = record.name, .label = label, .bytes = traced_bytes(call)});
  in_world([&] {
    if (record.kind != Record::Kind::call) return wait_for_ranks(record);  // throws
    carry_out(record, call);
  });
}

void Channel::carry_out(const Record& record, const Collective& call) {
  const auto workspace = workspace_for(record, call);
  wait_for_ranks(record, announcement_of(call));
  const TraceScope moving("transfer", "move data");
  run_collective(call, *workspace, *transport, [&](const std::string& error) {
    wait_for_ranks(error.empty() ? record : own_objection(record, error));
  });
}

Record Channel::own_objection(const Record& record, const std::string& error) const {
  return objection(record, transport->place().rank, error, ExitStatus::failure);
}

// A rank without the memory comes to the meeting with that, and throws there like the others.
std::unique_ptr<Workspace> Channel::workspace_for(const Record& record, const Collective& call) {
  std::string error;
  try {
    if (!closed) return std::make_unique<Workspace>(call, *transport);
  } catch (const std::exception& failure) {
    error = cat('[', record.verb, "] finds no memory to work in: ", failure.what());
  }
  wait_for_ranks(own_objection(record, error));
  return nullptr;
}

}  // namespace ronde::inline v0
