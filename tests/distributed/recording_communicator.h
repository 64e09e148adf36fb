/// A communicator that pretends to be rank 0 of 2, records what is all-reduced and moves nothing. Its
/// operations may come to an end that a test has thought of.
#pragma once

#include <vector>

#include <ronde/distributed/communicator.h>

namespace ronde::test {

struct RecordingCommunicator final : Communicator {
  std::vector<Tensor> allreduced;
  int barriers = 0;
  std::vector<std::shared_ptr<Work::State>> states;  ///< of the all-reduces to come; then: done at once

  int rank() const override { return 0; }
  int size() const override { return 2; }
  int local_rank() const override { return 0; }
  int local_size() const override { return 2; }
  int cross_rank() const override { return 0; }
  int cross_size() const override { return 1; }
  std::string name() const override { return "recording"; }
  Work start(Collective call) override {
    if (call.verb == Collective::Verb::allreduce)
      allreduced.insert(allreduced.end(), call.tensors.begin(), call.tensors.end());
    barriers += call.verb == Collective::Verb::barrier;
    if (states.empty() || call.verb != Collective::Verb::allreduce) return {};
    const Work work(states.front());
    states.erase(states.begin());
    return work;
  }
  std::unique_ptr<Communicator> split(int, int) override { return nullptr; }
  bool conclude(const Ending&) override { return true; }
};

}  // namespace ronde::test
