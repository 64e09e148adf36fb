#include <ronde/distributed/runtime.h>

#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace ronde {
namespace {

// As parts of a program do that know nothing of each other.
TEST(Runtime, ThreadsThatCallInitAtOnceGetOneWorld) {
  for (int round = 0; round < 50; ++round) {
    std::vector<const Communicator*> worlds(4);
    std::vector<std::thread> threads;
    for (const Communicator*& mine : worlds)
      threads.emplace_back([&mine] {
        init();
        mine = &world();
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(worlds, std::vector<const Communicator*>(4, &world()));
    shutdown();
  }
}

}  // namespace
}  // namespace ronde
