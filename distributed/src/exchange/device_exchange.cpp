#include "exchange/device_exchange.h"

#include <variant>

#include <ronde/core/backend.h>

namespace ronde::inline v0 {

Work DeviceExchange::start(std::size_t index) {
  const GradientBuckets::Bucket& bucket = buckets()[index];
  const Tensor values = arena().gradients().view(bucket.begin, {bucket.end - bucket.begin});
  wire(communicator()).count_sum(values);
  return nccl_.sum_planned(values);
}

std::shared_ptr<GradientExchange> make_device_exchange(ParameterArena& arena, Communicator& communicator,
                                                       const DistributedOptions& options) {
  const Device device = arena.gradients().backend().device();
  if (device.type != DeviceType::cuda) return nullptr;
  auto* nccl = dynamic_cast<NcclCommunicator*>(&communicator);
  require<UsageError>(nccl != nullptr && &nccl->gpu() == &arena.gradients().backend(),
                      "[distributed_optimizer] the gradients are on ", device,
                      ", but the communicator carries tensors of the host only: make_nccl_communicator");
  require<UsageError>(std::holds_alternative<compression::None>(options.compression) &&
                          options.combine == Combine::average && options.state == StateLayout::replicated,
                      "[distributed_optimizer] on GPUs gradients are summed as they are; ",
                      to_string(options), " needs --device cpu");
  return std::make_shared<DeviceExchange>(arena, *nccl, options.buckets);
}

}  // namespace ronde::inline v0
