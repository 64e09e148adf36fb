/// QueuedCommunicator: a Communicator over a Transport and an Executor.
///
/// Note [Meeting]: every operation begins with a meeting, in which the ranks wait for each other without
/// using the processor and compare a hash of what they call. When all agree, data moves at full speed, nobody
/// waiting. When they do not, they exchange what they call and throw the same CollectiveError everywhere. A
/// rank that cannot go on comes to the meeting with its error instead of a call (`conclude`), so nobody waits
/// for it in vain; after that the communicator is closed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "executor.h"
#include "transport.h"

namespace ronde::inline v0 {

class QueuedCommunicator final : public Communicator {
 public:
  QueuedCommunicator(std::unique_ptr<Transport> transport, std::shared_ptr<Executor> executor);
  /// Waits for what is queued; the transport is closed where its calls are made.
  ~QueuedCommunicator() override;

  int rank() const override { return place_.rank; }
  int size() const override { return place_.size; }
  int local_rank() const override { return place_.local_rank; }
  int local_size() const override { return place_.local_size; }
  int cross_rank() const override { return place_.cross_rank; }
  int cross_size() const override { return place_.cross_size; }
  std::string name() const override { return name_; }

  Work allreduce(const Tensor& data, Reduction op) override;
  Work broadcast(const Tensor& data, int root) override;
  Work allgather(const Tensor& out, const Tensor& in) override;
  Work allgatherv(const Tensor& out, const Tensor& in, const std::vector<std::int64_t>& counts) override;
  Work reduce_scatter(const Tensor& out, const Tensor& in, Reduction op) override;
  Work alltoall(const Tensor& out, const Tensor& in) override;
  Work barrier() override;
  std::unique_ptr<Communicator> split(int color, int key) override;
  bool conclude(const Ending& ending) override;

 private:
  struct Channel;
  template <class F>
  Work start(std::string call, F&& operation);

  std::shared_ptr<Executor> executor_;
  std::shared_ptr<Channel> channel_;  // used on the executor's thread only
  Place place_;
  std::string name_;
};

}  // namespace ronde::inline v0
