/// Ranks as threads that share memory as processes of one node do: one region, mapped once, so that
/// ThreadSanitizer sees who reads what others write. `run_node_ranks(3, f)` calls f(communicator) on each.
#pragma once

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include <unistd.h>

#include <gtest/gtest.h>

#include "collectives/queued_communicator.h"
#include "shm/node_transport.h"
#include "support/thread_ranks.h"

namespace ronde::test {

/// Calls f(transport) for each rank, on a thread of its own.
inline void run_node_transports(int size, const std::function<void(std::unique_ptr<NodeTransport>)>& f) {
  const auto region = SharedRegion::create(SharedRegion::Kind::anonymous, NodeGroup::bytes_for(size));
  const Watchdog watchdog(60);
  std::vector<std::thread> threads;
  for (int r = 0; r < size; ++r) {
    threads.emplace_back([&, r] {
      try {
        f(std::make_unique<NodeTransport>(
            std::make_unique<NodeGroup>(region, r, std::vector<int>(std::size_t(size), getpid()), nullptr),
            "node", nullptr));
      } catch (const std::exception& error) {
        ADD_FAILURE() << "rank " << r << ": " << error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

inline void run_node_ranks(int size, const std::function<void(Communicator&)>& f) {
  run_node_transports(size, [&](std::unique_ptr<NodeTransport> transport) {
    QueuedCommunicator communicator(std::move(transport), std::make_shared<WorkerThread>());
    f(communicator);
  });
}

}  // namespace ronde::test
