#include "exchange/gradient_exchange.h"

#include <algorithm>

#include "exchange/adasum_exchange.h"
#include "exchange/device_exchange.h"
#include "exchange/half_exchange.h"
#include "exchange/plain_exchange.h"
#include "exchange/power_sgd_exchange.h"
#include "exchange/sharded_exchange.h"
#include "exchange/top_k_exchange.h"

namespace ronde::inline v0 {

GradientExchange::GradientExchange(ParameterArena& arena, Communicator& communicator, BucketOptions options)
    : arena_(&arena),
      communicator_(&communicator),
      buckets_(GradientBuckets::plan(arena, options)),
      options_(arena.gradients().options()),
      rank_(communicator.rank()),
      size_(communicator.size()) {
  for (const GradientBuckets::Bucket& bucket : buckets_)
    counts_.push_back(std::max<std::int64_t>(0, std::min(bucket.end, arena.trainable_size()) - bucket.begin));
}

GradientExchange::Part GradientExchange::part_of(std::size_t index) const {
  const GradientBuckets::Bucket& bucket = buckets_[index];
  Part part{index, arena_->gradients().view(bucket.begin, {counts_[index]}), {}};
  for (std::size_t s = bucket.first_segment; s < bucket.last_segment; ++s) {
    part.segments.push_back(arena_->segments()[s]);
    part.segments.back().offset -= bucket.begin;
  }
  return part;
}

Work GradientExchange::start(std::size_t index) {
  // Numbers of samples stay exact. They travel with the last bucket.
  const Tensor extras = index + 1 == buckets_.size() ? arena_->extras() : Tensor();
  return communicator_->sequence(cat("bucket ", index), [self = shared_from_this(), part = part_of(index),
                                                         extras](Communicator& communicator) {
    Wire wire = self->wire(communicator);
    if (part.values.count() > 0) self->run(part, wire);
    if (extras.defined()) wire.sum(extras);
  });
}

namespace {

struct Maker {
  ParameterArena& arena;
  Communicator& communicator;
  BucketOptions buckets;

  std::shared_ptr<GradientExchange> operator()(const compression::None&) const {
    return std::make_shared<PlainExchange>(arena, communicator, buckets);
  }
  std::shared_ptr<GradientExchange> operator()(const compression::Bf16&) const {
    return std::make_shared<HalfExchange>(arena, communicator, buckets, HalfFormat::bf16);
  }
  std::shared_ptr<GradientExchange> operator()(const compression::Fp16&) const {
    return std::make_shared<HalfExchange>(arena, communicator, buckets, HalfFormat::fp16);
  }
  std::shared_ptr<GradientExchange> operator()(const compression::TopK& options) const {
    return std::make_shared<TopKExchange>(arena, communicator, buckets, options);
  }
  std::shared_ptr<GradientExchange> operator()(const compression::PowerSgd& options) const {
    return std::make_shared<PowerSgdExchange>(arena, communicator, buckets, options);
  }
};

}  // namespace

std::shared_ptr<GradientExchange> make_exchange(ParameterArena& arena, Communicator& communicator,
                                                const DistributedOptions& options) {
  if (auto on_gpu = make_device_exchange(arena, communicator, options)) return on_gpu;
  if (options.combine == Combine::adasum)
    return std::make_shared<AdasumExchange>(arena, communicator, options.buckets);
  if (options.state == StateLayout::sharded)
    return std::make_shared<ShardedExchange>(arena, communicator, options.buckets);
  return std::visit(Maker{arena, communicator, options.buckets}, options.compression);
}

}  // namespace ronde::inline v0
