/// SelfCommunicator: a world of one rank. Every collective is the identity and done when it returns.
#pragma once

#include <ronde/distributed/communicator.h>

namespace ronde::inline v0 {

class RONDE_API SelfCommunicator final : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  int local_rank() const override { return 0; }
  int local_size() const override { return 1; }
  int cross_rank() const override { return 0; }
  int cross_size() const override { return 1; }
  std::string name() const override { return "self"; }

  Work allreduce(const Tensor& data, Reduction op = Reduction::sum) override;
  Work broadcast(const Tensor& data, int root = 0) override;
  Work allgather(const Tensor& out, const Tensor& in) override;
  Work allgatherv(const Tensor& out, const Tensor& in, const std::vector<std::int64_t>& counts) override;
  Work reduce_scatter(const Tensor& out, const Tensor& in, Reduction op = Reduction::sum) override;
  Work alltoall(const Tensor& out, const Tensor& in) override;
  Work barrier() override { return {}; }
  std::unique_ptr<Communicator> split(int color, int key) override;
  bool conclude(const Ending& ending) override;
};

}  // namespace ronde::inline v0
