/// ThreadCommunicator: ranks are threads of one process. All logic of distributed training runs in ordinary
/// tests with it, under sanitizers too.
///
///     auto ranks = make_thread_communicators(4);   // ranks[r] goes to thread r
///
/// Each rank has a worker thread of its own for its collectives, so they overlap with what the rank does; one
/// that has not begun is run by the thread that waits for it. Sums are taken in rank order. A communicator
/// that is destroyed first finishes what it started; calls of other ranks that still need this rank then
/// throw.
#pragma once

#include <memory>
#include <vector>

#include <ronde/distributed/communicator.h>

namespace ronde::inline v0 {

RONDE_API std::vector<std::unique_ptr<Communicator>> make_thread_communicators(int size);

}  // namespace ronde::inline v0
