/// Channel: the operations of a communicator, as the thread that runs them sees them: the transport, its
/// ranks' meetings, and what is recorded of both.
///
/// Note [Errors of an operation]: what comes out of it, so of `Work::wait`, and from where.
///
///     CollectiveError, the same on all ranks: from a meeting (wait_for_ranks), which all of them come to
///         `closed`          a rank has ended by an error (`conclude`, or in a `sequence`): now and ever after
///         disagreement_in   ranks call different things, or one has an objection: to its arguments
///                           (QueuedCommunicator::start), for want of memory (workspace_for, and behind the
///                           meeting make_room in run_collective.cpp), or to what it should make
///                           (make_together). The next operation is as good as ever
///     RankLeft, a CollectiveError of those that wait: from the transport, for a rank that has closed its
///         communicator
///     RankGone, an Error of this rank alone: from the transport, in a meeting or behind it, when a process has
///         died or a connection has ended
///     any other Error, of this rank alone: from the transport, such as those of MPI
///
/// After the last three the transport may be of no more use. `in_world` makes its numbers of ranks those of
/// the world.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ronde/core/trace.h>
#include <ronde/distributed/collective.h>

#include "collectives/meeting.h"
#include "collectives/run_collective.h"
#include "transport/transport.h"
#include "watchdog/flight_recorder.h"

namespace ronde::inline v0 {

struct Channel {
  /// `group` is the recorder's name for it, `ranks` what its ranks are in the world.
  Channel(std::unique_ptr<Transport> over, std::shared_ptr<FlightRecorder> in, const std::string& group,
          std::vector<int> ranks);

  /// An operation that moves nothing.
  void meet(const Record& record);
  /// `record` is what this rank brings to the meeting: the call, or its objection to it.
  void run(const Record& record, const Collective& call, const TraceArgument& tag, const char* label);
  /// Of this rank, for a further meeting.
  Record own_objection(const Record& record, const std::string& error) const;

  std::unique_ptr<Transport> transport;
  std::vector<int> world;                    // what the ranks are there
  std::shared_ptr<FlightRecorder> recorder;  // of this and of all that were split from it
  std::unique_ptr<FlightRecorder::Group> flight;
  std::optional<CollectiveError> closed;  // why no operation can run any more
  std::atomic<std::int64_t> started = 0, finished = 0;
  std::atomic<std::int64_t> notice = 0;  // of this rank, for the next meeting
  std::atomic<std::int64_t> told = 0;    // highest of all ranks in the meetings so far

  /// Counts an operation that ends, however it does.
  struct Finish {
    ~Finish() { channel.finished.fetch_add(1); }
    Channel& channel;
  };

 private:
  template <class F>
  void in_world(F&& f) const;
  void wait_for_ranks(const Record& record, const Announcement& next = {});
  void carry_out(const Record& record, const Collective& call);
  std::unique_ptr<Workspace> workspace_for(const Record& record, const Collective& call);
};

}  // namespace ronde::inline v0
