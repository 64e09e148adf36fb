#include <ronde/distributed/self_communicator.h>
#include <ronde/distributed/tcp_communicator.h>

#include "collectives/queued_communicator.h"
#include "shm/with_shared_memory.h"
#include "tcp/rendezvous.h"
#include "tcp/tcp_transport.h"

namespace ronde::inline v0 {

std::unique_ptr<Communicator> make_tcp_communicator(const TcpOptions& options) {
  if (options.size == 1 && options.rank == 0) return std::make_unique<SelfCommunicator>();
  const Gathering gathering = gather_ranks(options);
  std::vector<Socket> links = connect_all(gathering, options.rank, Deadline(options.patience));
  auto mesh = std::make_unique<Mesh>(options.rank, std::move(links));
  auto transport = std::make_unique<TcpTransport>(std::move(mesh), gathering.table.hosts,
                                                  own_address(gathering.listener).host);
  return std::make_unique<QueuedCommunicator>(
      with_shared_memory(std::move(transport), {.path = options.path}), std::make_shared<WorkerThread>());
}

}  // namespace ronde::inline v0
