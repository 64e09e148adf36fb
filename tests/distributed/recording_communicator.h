/// A communicator that pretends to be rank 0 of 2, records what is all-reduced and moves nothing.
#pragma once

#include <vector>

#include <ronde/distributed/communicator.h>

namespace ronde::test {

struct RecordingCommunicator final : Communicator {
  std::vector<Tensor> allreduced;

  int rank() const override { return 0; }
  int size() const override { return 2; }
  int local_rank() const override { return 0; }
  int local_size() const override { return 2; }
  int cross_rank() const override { return 0; }
  int cross_size() const override { return 1; }
  std::string name() const override { return "recording"; }
  Work allreduce(const Tensor& data, Reduction) override {
    allreduced.push_back(data);
    return {};
  }
  Work broadcast(const Tensor&, int) override { return {}; }
  Work allgather(const Tensor&, const Tensor&) override { return {}; }
  Work allgatherv(const Tensor&, const Tensor&, const std::vector<std::int64_t>&) override { return {}; }
  Work reduce_scatter(const Tensor&, const Tensor&, Reduction) override { return {}; }
  Work alltoall(const Tensor&, const Tensor&) override { return {}; }
  Work barrier() override { return {}; }
  std::unique_ptr<Communicator> split(int, int) override { return nullptr; }
  bool conclude(const Ending&) override { return true; }
};

}  // namespace ronde::test
