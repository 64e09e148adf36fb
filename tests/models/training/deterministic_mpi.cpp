// Run by mpirun: ranks of MPI get the bits that each of them gets alone.
#include <ronde/distributed/runtime.h>
#include <ronde/distributed/self_communicator.h>

#include "models/training/deterministic_test.h"

int main(int argc, char** argv) {
  using ronde::testing::Outcome, ronde::testing::train_deterministically;
  return ronde::run_main(argc, argv, [](ronde::Communicator& world) {
    ronde::SelfCommunicator self;
    const Outcome together = train_deterministically(&world);
    const Outcome alone = train_deterministically(&self);
    ronde::require(together == alone, "weights of ", world.size(), " ranks ", together.sha256, ", of one ",
                   alone.sha256);
  });
}
