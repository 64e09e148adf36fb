/// RankFacts: what each rank runs on, so that ranks that do not go together are found before they waste
/// hours.
///
///     const std::vector<RankFacts> ranks = gather_rank_facts(world);
///     require_same_libraries(ranks);  // an error on all ranks, or on none
///     for (const CrowdedNode& node : find_crowded_nodes(ranks)) warn(describe(node));
///
/// Only the gathering is collective; what is made of its result is the same on every rank.
#pragma once

#include <string>
#include <vector>

#include <ronde/core/dtype.h>
#include <ronde/distributed/communicator.h>

namespace ronde::inline v0 {

struct RankFacts {
  int rank = 0;  ///< in the world
  std::string host;
  int node = 0;             ///< Communicator::cross_rank
  int process = 0;          ///< its id; several ranks may be threads of one process
  std::vector<int> cores;   ///< that it may run on
  double core_limit = 0.0;  ///< a cgroup's, in cores; 0: none
  int threads = 1;          ///< that compute, of the default backend
  std::string version;      ///< of Ronde
  std::string mpi;          ///< name and version of the MPI library; empty without
  std::string kernels;      ///< "oneDNN 2.6.3, avx512_bf16, winograd convolutions"
  std::string float_kernels;  ///< the same without what differs in bf16 alone: "oneDNN 2.6.3, avx512, ..."
};

/// Those of this rank.
RONDE_API RankFacts own_rank_facts(const Communicator& communicator);
/// Those of all ranks, in their order. Collective.
RONDE_API std::vector<RankFacts> gather_rank_facts(Communicator& communicator);

/// CollectiveError when ranks have other versions of Ronde or of the MPI library; names ranks and versions.
RONDE_API void require_same_libraries(const std::vector<RankFacts>& ranks);
/// CollectiveError when ranks that compute in this type round differently, so that no result could be the
/// same bits on all of them.
RONDE_API void require_same_kernels(const std::vector<RankFacts>& ranks, DType computed);

/// More threads that compute than cores for them.
struct CrowdedNode {
  std::string host;
  std::vector<int> ranks;  ///< of the world, that share these cores
  int threads = 0;         ///< of all of them
  int cores = 0;
};

/// At most one of each node: its most crowded cores. Ranks that are bound to some cores of a node are
/// compared with those cores.
RONDE_API std::vector<CrowdedNode> find_crowded_nodes(const std::vector<RankFacts>& ranks);
/// "node1: 4 ranks with 8 threads share 2 cores, so ...": a sentence with what to do.
RONDE_API std::string describe(const CrowdedNode& node);

}  // namespace ronde::inline v0
