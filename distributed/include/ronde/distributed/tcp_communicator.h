/// Ranks as processes that somebody else starts, without MPI: a Kubernetes job, Spark, ssh in a loop.
///
///     RONDE_RANK=0 RONDE_WORLD_SIZE=2 RONDE_RENDEZVOUS=tcp://node1:29500 ./train_mnist     # on node1
///     RONDE_RANK=1 RONDE_WORLD_SIZE=2 RONDE_RENDEZVOUS=tcp://node1:29500 ./train_mnist     # on node2
///
/// With these variables `init` and `run_main` use what is declared here. The rendezvous is an address that
/// rank 0 listens at, or a file that rank 0 writes and all ranks see (`file:/shared/job17`). The ranks
/// connect to each other over the interface that reaches rank 0, over loopback when all are on one machine. A
/// random token of the job, which the ranks get from rank 0, guards these connections; who may ask rank 0 for
/// it is decided by the file's permissions, or by RONDE_TOKEN, a secret all ranks must have.
///
/// Ranks of one machine use memory that they share, if they can, and the connections only to meet; over
/// several machines all-reduces do so inside each (see AllreducePath). Every rank is connected with every
/// other one, which is meant for up to about a hundred ranks. Sums are taken in rank order. A rank whose
/// process ends is noticed by all others at once, one whose machine is gone within seconds: what they wait
/// for throws. While the ranks gather, one that died may be started again.
#pragma once

#include <memory>
#include <string>

#include <ronde/distributed/allreduce_path.h>
#include <ronde/distributed/communicator.h>

namespace ronde::inline v0 {

struct TcpOptions {
  int rank = 0;
  int size = 1;
  std::string rendezvous = {};  ///< "tcp://host:port" or "file:/path"
  std::string token = {};       ///< a secret of the ranks, of any characters; empty: none
  /// Where rank 0 listens when a file tells of it, or when the name in `rendezvous` means loopback on its own
  /// machine: an interface, or a network as "10.0.0.0/24". Empty: addresses that no router of the internet
  /// passes on.
  std::string iface = {};
  double patience = 60.0;                         ///< seconds to wait for ranks that do not come
  AllreducePath path = AllreducePath::automatic;  ///< automatic: as rank 0's $RONDE_ALLREDUCE says
};

/// Collective. An error that names the ranks that did not come in time; a rank with another token than rank 0
/// has an error of its own.
RONDE_API std::unique_ptr<Communicator> make_tcp_communicator(const TcpOptions& options);

}  // namespace ronde::inline v0
