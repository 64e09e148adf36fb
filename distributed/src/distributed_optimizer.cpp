#include <ronde/distributed/distributed_optimizer.h>

#include <ronde/core/backend.h>

#include "plan.h"

namespace ronde::inline v0 {

DistributedOptimizer::DistributedOptimizer(std::unique_ptr<Optimizer> optimizer, Communicator& communicator,
                                           BucketOptions options)
    : optimizer_(std::move(optimizer)), communicator_(&communicator), options_(options) {
  require<UsageError>(optimizer_ != nullptr, "[distributed_optimizer] expects an optimizer, got nullptr");
}

DistributedOptimizer::~DistributedOptimizer() = default;

void DistributedOptimizer::attach(ParameterArena& arena) {
  optimizer_->attach(arena);
  if (communicator_->size() == 1) return;
  compare_plans(arena, *optimizer_, options_, *communicator_);
  broadcast_parameters(arena, *communicator_);
  broadcast_optimizer_state(*optimizer_, *communicator_);
  buckets_ = std::make_unique<GradientBuckets>(arena, *communicator_, options_);
}

// Sums the gradients, and `samples`, over all ranks.
double DistributedOptimizer::reduce(std::int64_t samples) {
  if (!buckets_) return static_cast<double>(samples);
  const ParameterArena& arena = optimizer_->arena();
  const Tensor extras = arena.extras();
  extras.fill(0.0);
  extras.view(0, {1}).fill(static_cast<double>(samples));
  buckets_->finish();
  return extras.view(0, {1}).item();
}

std::int64_t DistributedOptimizer::step(StepSamples samples) {
  require<UsageError>(samples.samples >= 0, "[distributed_optimizer] samples must not be negative, got ",
                      samples.samples);
  const double total = reduce(samples.samples);
  if (total > 0.0) optimizer_->step(1.0 / total);
  return static_cast<std::int64_t>(total);
}

void DistributedOptimizer::step() {
  reduce(0);
  optimizer_->step(1.0 / communicator_->size());
}

DistributedOptimizer::NoSync::NoSync(DistributedOptimizer& optimizer) : buckets_(optimizer.buckets_.get()) {
  if (!buckets_) return;
  before_ = buckets_->synchronise();
  buckets_->set_synchronise(false);
}

DistributedOptimizer::NoSync::~NoSync() {
  if (buckets_) buckets_->set_synchronise(before_);
}

void broadcast_parameters(ParameterArena& arena, Communicator& communicator, int root) {
  const Work values = communicator.broadcast(arena.values(), root);
  const Work buffers = communicator.broadcast(arena.buffers(), root);
  values.wait();
  buffers.wait();
  arena.bump_version();
}

void broadcast_optimizer_state(Optimizer& optimizer, Communicator& communicator, int root) {
  const TensorOptions host{.dtype = DType::f64, .backend = &backend("cpu")};
  for (const OptimizerSlot& slot : optimizer.slots()) communicator.broadcast(slot.values, root).wait();
  // Exact up to 2^53 steps.
  const Tensor scalars = Tensor::empty({2}, host);
  scalars.data<double>()[0] = static_cast<double>(optimizer.iterations());
  scalars.data<double>()[1] = optimizer.learning_rate();
  communicator.broadcast(scalars, root).wait();
  optimizer.set_iterations(static_cast<std::int64_t>(scalars.data<double>()[0]));
  optimizer.set_learning_rate(scalars.data<double>()[1]);
}

}  // namespace ronde::inline v0
