/// What `make_nccl_communicator` makes.
#pragma once

#include <memory>
#include <string>

#include <ronde/core/counted.h>
#include <ronde/core/device_group.h>
#include <ronde/distributed/nccl_communicator.h>

#include "nccl/step_watch.h"

namespace ronde::inline v0 {

class NcclCommunicator final : public Communicator {
 public:
  /// Collective; the ranks have agreed that all can.
  NcclCommunicator(Communicator& host, Backend& gpu);

  int rank() const override { return host_.rank(); }
  int world_rank(int rank) const override { return host_.world_rank(rank); }
  int size() const override { return host_.size(); }
  int local_rank() const override { return host_.local_rank(); }
  int local_size() const override { return host_.local_size(); }
  int cross_rank() const override { return host_.cross_rank(); }
  int cross_size() const override { return host_.cross_size(); }
  std::string name() const override { return "nccl"; }
  std::string transport() const override {
    return cat("NCCL, ", counted(size(), "rank"), "; ", host_.transport());
  }

  Work start(Collective call) override;
  Work sequence(const std::string& call, std::function<void(Communicator&)> body) override;
  Tensor shared_tensor(const Shape& shape, TensorOptions options) override;
  std::unique_ptr<Communicator> split(int color, int key) override;
  bool conclude(const Ending& ending) override { return host_.conclude(ending); }
  void raise_notice(int level) override { host_.raise_notice(level); }
  int take_notice() override { return host_.take_notice(); }
  std::shared_ptr<FlightRecorder> flight_recorder() override { return host_.flight_recorder(); }

  /// In place, a sum that the ranks have agreed on before: no host meets another.
  Work sum_planned(const Tensor& data);
  void mark_step() { watch_.step(); }
  Backend& gpu() const { return gpu_; }

 private:
  bool is_here(const Tensor& tensor) const { return !tensor.defined() || &tensor.backend() == &gpu_; }
  bool is_here(const Collective& call) const;
  /// On every rank, or, where one has none, nullptr on all.
  std::shared_ptr<void> window_memory(std::size_t bytes);
  void object(const std::string& text);
  /// What every rank has to call alike; throws on all ranks when they do not.
  void meet(const Collective& call);
  Work start_on_gpu(const Collective& call);
  /// By copies in the host's memory: for the rarer verbs and reductions.
  Work start_by_host(const Collective& call);

  Communicator& host_;
  Backend& gpu_;
  DeviceGroup group_;
  StepWatch watch_;
};

}  // namespace ronde::inline v0
