/// DeviceExchange: sums of gradients on GPUs, straight in the gradients, tables of rows included. Nothing of
/// it makes the host wait or meet, so it can be part of a captured step.
#pragma once

#include "exchange/gradient_exchange.h"
#include "nccl/nccl_communicator.h"

namespace ronde::inline v0 {

class DeviceExchange final : public GradientExchange {
 public:
  DeviceExchange(ParameterArena& arena, NcclCommunicator& communicator, BucketOptions options)
      : GradientExchange(arena, communicator, options), nccl_(communicator) {}

  Work start(std::size_t index) override;

 private:
  void run(const Part&, Wire&) override {}  // `start` does it all

  NcclCommunicator& nccl_;
};

/// nullptr where the gradients are in host memory. A UsageError for what cannot be done on GPUs.
std::shared_ptr<GradientExchange> make_device_exchange(ParameterArena& arena, Communicator& communicator,
                                                       const DistributedOptions& options);

}  // namespace ronde::inline v0
