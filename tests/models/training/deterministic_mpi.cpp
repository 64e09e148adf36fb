// Run by mpirun: ranks of MPI get the bits that one gets alone.
#include <ronde/distributed/objects.h>
#include <ronde/distributed/runtime.h>
#include <ronde/distributed/self_communicator.h>

#include "models/training/deterministic_test.h"

int main(int argc, char** argv) {
  using ronde::test::Outcome, ronde::test::train_deterministically;
  return ronde::run_main(argc, argv, [](ronde::Communicator& world) {
    const Outcome together = train_deterministically(&world);
    Outcome alone;
    if (world.rank() == 0) {
      ronde::SelfCommunicator self;
      alone = train_deterministically(&self);
    }
    alone.sha256 = ronde::broadcast_object(world, alone.sha256).wait();
    alone.history = ronde::broadcast_object(world, alone.history).wait();
    ronde::require(together == alone, "weights of ", world.size(), " ranks ", together.sha256, ", of one ",
                   alone.sha256);
  });
}
