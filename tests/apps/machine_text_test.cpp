#include <gtest/gtest.h>
#include <sched.h>

#include "report/machine.h"

namespace ronde::apps {
namespace {

TEST(MachineText, HasAllCoresOfTheMachine) {
  cpu_set_t all, one;
  sched_getaffinity(0, sizeof all, &all);
  CPU_ZERO(&one);
  for (int core = 0; CPU_COUNT(&one) == 0; ++core)
    if (CPU_ISSET(core, &all)) CPU_SET(core, &one);
  const std::string unbound = machine_description();
  sched_setaffinity(0, sizeof one, &one);  // as mpirun does with two ranks
  const std::string bound = machine_description();
  sched_setaffinity(0, sizeof all, &all);
  EXPECT_EQ(bound, unbound);
}

}  // namespace
}  // namespace ronde::apps
