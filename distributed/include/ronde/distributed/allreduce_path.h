/// AllreducePath: how ranks that are processes sum large tensors.
///
///     RONDE_ALLREDUCE=mpi mpirun -np 4 ./train_mnist
#pragma once

#include <string>

#include <ronde/core/export.h>

namespace ronde::inline v0 {

enum class AllreducePath {
  automatic,  ///< one node: as `node`; several: `hierarchical` or `mpi`, whichever is faster when they start
  mpi,        ///< what connects the processes anyway, as it is: MPI, or TCP in a job without MPI
  node,       ///< through memory that the ranks of one node share; an error on several nodes
  hierarchical,  ///< through shared memory inside each node, then between the nodes
};

/// "auto", "mpi", "node", "hierarchical"
RONDE_API std::string to_string(AllreducePath path);
/// What $RONDE_ALLREDUCE says; automatic when it is not set. A UsageError for anything else.
RONDE_API AllreducePath allreduce_path_from_environment();

}  // namespace ronde::inline v0
