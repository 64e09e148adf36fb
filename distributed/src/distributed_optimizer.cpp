#include <ronde/distributed/distributed_optimizer.h>

#include <ronde/core/backend.h>
#include <ronde/core/counted.h>
#include <ronde/core/trace.h>
#include <ronde/distributed/nccl_communicator.h>

#include "exchange/sharded_exchange.h"
#include "plan.h"
#include "watchdog/flight_recorder.h"
#include "weight_average.h"

namespace ronde::inline v0 {

namespace {

// Exact up to 2^53 steps.
void broadcast_counters(Optimizer& optimizer, Communicator& communicator, int root) {
  const TensorOptions host{.dtype = DType::f64, .backend = &backend("cpu")};
  const Tensor scalars = Tensor::empty({3}, host);
  double* const values = scalars.data<double>();
  values[0] = static_cast<double>(optimizer.iterations());
  values[1] = optimizer.learning_rate();
  values[2] = optimizer.is_averaged() ? 1.0 : 0.0;
  communicator.broadcast(scalars, root, "steps and learning rate").wait();
  optimizer.set_counters({.iterations = static_cast<std::int64_t>(values[0])});
  optimizer.set_learning_rate(values[1]);
  optimizer.set_averaged(values[2] != 0.0);
}

// Of ranks whose arenas have the same layout. One after the other: an error leaves nothing under way.
void broadcast_values(ParameterArena& arena, Communicator& communicator, int root) {
  communicator.broadcast(arena.values(), root, "parameters").wait();
  communicator.broadcast(arena.buffers(), root, "moving statistics").wait();
  arena.bump_version();
}

void broadcast_whole_state(Optimizer& optimizer, Communicator& communicator, int root) {
  broadcast_counters(optimizer, communicator, root);
  for (const OptimizerSlot& slot : optimizer.slots())
    communicator.broadcast(slot.values, root, slot.name).wait();
}

}  // namespace

DistributedOptimizer::DistributedOptimizer(std::unique_ptr<Optimizer> optimizer, Communicator& communicator,
                                           DistributedOptions options)
    : optimizer_(std::move(optimizer)), communicator_(&communicator), options_(std::move(options)) {
  require<UsageError>(optimizer_ != nullptr, "[distributed_optimizer] expects an optimizer, got nullptr");
  check(options_);
}

DistributedOptimizer::~DistributedOptimizer() = default;

void DistributedOptimizer::attach(ParameterArena& arena) {
  if (communicator_->size() == 1) return optimizer_->attach(arena);
  // A rank that has no memory for its state must not leave the others waiting.
  collectively(*communicator_, [&] { make_state(arena); });
  compare_plans(arena, *optimizer_, options_, *communicator_);
  // Where ranks share a node, they read each other's new weights.
  if (sharded_) arena.use_values(shared_like(arena.values()));
  broadcast_values(arena, *communicator_, 0);
  broadcast_state(sharded_ ? std::vector<OptimizerSlot>() : optimizer_->slots());
  // Where ranks share a node, buckets are then summed straight from each other's gradients.
  const Tensor gradients = shared_like(arena.gradients());
  gradients.copy_from(arena.gradients());
  arena.use_gradients(gradients);
  buckets_ = std::make_unique<GradientBuckets>(arena, *communicator_, options_.buckets, exchange_);
  prepare_step();
}

// What compression leaves over, and the optimizer's state.
void DistributedOptimizer::make_state(ParameterArena& arena) {
  const bool is_on_gpu = arena.gradients().backend().device().type == DeviceType::cuda;
  if (options_.state == StateLayout::sharded && !is_on_gpu) {
    sharded_ = std::make_shared<ShardedExchange>(arena, *communicator_, options_.buckets);
    exchange_ = sharded_;
    optimizer_->restrict_to({sharded_->own_ranges(), [this](std::vector<double>& values) {
                               allreduce_values(*communicator_, values);
                             }});
  } else {
    exchange_ = make_exchange(arena, *communicator_, options_);
  }
  optimizer_->attach(arena);
}

Tensor DistributedOptimizer::shared_like(const Tensor& own) const {
  return communicator_->shared_tensor(own.shape(), own.options());
}

bool DistributedOptimizer::is_local_step() const {
  return options_.local_steps.period > 1 && optimizer_->iterations() >= options_.local_steps.start_step;
}

// What is known of the next step.
void DistributedOptimizer::prepare_step() {
  expected_ = {};
  if (!buckets_) return;
  exchange_->expect({.updates = optimizer_->iterations()});
  buckets_->set_synchronize(!is_local_step());
}

void DistributedOptimizer::expect(StepSamples samples) {
  // First: what has left of a pass that was broken off may still read what was expected of it.
  if (buckets_) buckets_->restart();
  prepare_step();
  expected_ = samples;
  if (!buckets_) return;
  exchange_->expect({.updates = optimizer_->iterations(),
                     .samples = static_cast<double>(samples.samples),
                     .knows_samples = true,
                     .total_samples = static_cast<double>(samples.of_all_ranks)});
}

void DistributedOptimizer::abandon_pass() {
  if (buckets_) buckets_->abandon();
}

DistributedOptimizer::StepSums DistributedOptimizer::reduce(StepSums own) {
  if (!buckets_) return own;
  const ParameterArena& arena = optimizer_->arena();
  const Tensor extras = arena.extras();
  extras.fill(0.0);
  const Tensor samples = extras.view(0, {1}), witness = extras.view(1, {1});
  samples.fill(own.samples);
  witness.fill(own.witness);
  if (!exchange_->may_start())
    exchange_->expect({.updates = optimizer_->iterations(), .samples = own.samples, .knows_samples = true});
  try {
    buckets_->finish();
  } catch (const CollectiveError&) {
    prepare_step();  // what was said of this one must not count for the next
    throw;
  }
  // A host that knows the number does not wait for a GPU to tell it; one that waits does so within a marked
  // step.
  const bool is_on_gpu = extras.backend().device().type == DeviceType::cuda;
  const bool knows = is_on_gpu && expected_.of_all_ranks > 0 && !gate_;
  if (is_on_gpu && !knows) mark_gpu_step(*communicator_);
  const StepSums total = knows ? StepSums{static_cast<double>(expected_.of_all_ranks), 0.0}
                               : StepSums{samples.item(), witness.item()};
  exchange_->end_step(total.samples);
  ++memory_steps_;
  return total;
}

bool DistributedOptimizer::may_update(double witness) {
  if (!gate_) return true;
  optimizer_->arena().complete_gradients();
  if (gate_(witness)) return true;
  if (exchange_) exchange_->reset();
  return false;
}

bool DistributedOptimizer::gradients_agree() const {
  return !buckets_ || (!sharded_ && !is_local_step() && !has_error_feedback(options_.compression));
}

bool DistributedOptimizer::weights_agree() const {
  return !weights_differ_;
}

void DistributedOptimizer::update(double scale) {
  optimizer_->step(buckets_ && options_.combine == Combine::adasum ? 1.0 : scale);
  gather_weights();
}

// Of which each rank has changed its part.
void DistributedOptimizer::gather_weights() {
  if (!sharded_) return;
  const TraceScope scope("wait", "gather weights");
  sharded_->gather(optimizer_->arena().values());
  optimizer_->arena().bump_version();
}

// A loop of the user's own tells whoever supervises the job by this alone how far it is.
void DistributedOptimizer::count_step() {
  ++steps_;
  if (const auto recorder = communicator_->flight_recorder())
    recorder->count_update(optimizer_->iterations());
}

std::int64_t DistributedOptimizer::step(StepSamples samples) {
  require<UsageError>(samples.samples >= 0, "[distributed_optimizer] samples must not be negative, got ",
                      samples.samples);
  count_step();
  const auto own = static_cast<double>(samples.samples);
  if (buckets_ && is_local_step()) {
    const std::int64_t known = expected_.of_all_ranks;
    step_alone({own, samples.witness}, own > 0.0 ? 1.0 / own : 0.0);
    return known > 0 ? known : samples.samples * communicator_->size();
  }
  const StepSums total = reduce({own, samples.witness});
  if (total.samples > 0.0 && may_update(total.witness)) update(1.0 / total.samples);
  prepare_step();
  return static_cast<std::int64_t>(total.samples);
}

void DistributedOptimizer::step() {
  count_step();
  if (buckets_ && is_local_step()) return step_alone({1.0, 0.0}, 1.0);
  const StepSums total = reduce({1.0, 0.0});
  if (may_update(total.witness)) update(1.0 / communicator_->size());
  prepare_step();
}

void DistributedOptimizer::step_alone(StepSums own, double scale) {
  if (!may_update(own.witness)) return prepare_step();
  if (own.samples > 0.0) {
    optimizer_->step(scale);
  } else {
    optimizer_->set_iterations(optimizer_->iterations() + 1);  // the same on all ranks
  }
  local_samples_ += own.samples;
  weights_differ_ = true;
  if (++local_updates_ % options_.local_steps.period == 0) average_weights();
  prepare_step();
}

void DistributedOptimizer::average_weights() {
  ParameterArena& arena = optimizer_->arena();
  average_over_ranks(*communicator_, {arena.values().view(0, {arena.trainable_size()})}, local_samples_,
                     average_bytes_);
  arena.bump_version();
  local_samples_ = 0.0;
  weights_differ_ = false;
}

void DistributedOptimizer::synchronize() {
  if (local_updates_ == 0) return;
  if (!weights_agree()) average_weights();
  std::vector<Tensor> state;
  for (const OptimizerSlot& slot : optimizer_->slots()) state.push_back(slot.values);
  average_over_ranks(*communicator_, state, 1.0, average_bytes_);
  local_updates_ = 0;
}

void DistributedOptimizer::swap_average() {
  synchronize();
  optimizer_->swap_average();
  gather_weights();
}

std::vector<OptimizerSlot> DistributedOptimizer::gather_slots() {
  std::vector<OptimizerSlot> slots = optimizer_->slots();
  if (!sharded_) return slots;
  for (OptimizerSlot& slot : slots) slot.values = sharded_->gather_at(0, slot.values);
  return slots;
}

std::vector<OptimizerSlot> DistributedOptimizer::whole_slots() const {
  std::vector<OptimizerSlot> slots = optimizer_->slots();
  if (!sharded_) return slots;
  for (OptimizerSlot& slot : slots) slot.values = optimizer_->arena().make_state();
  return slots;
}

void DistributedOptimizer::broadcast_state(const std::vector<OptimizerSlot>& slots) {
  memory_steps_ = 0;
  local_updates_ = 0;
  local_samples_ = 0.0;
  weights_differ_ = false;
  if (exchange_) exchange_->reset();
  if (!sharded_) {
    broadcast_whole_state(*optimizer_, *communicator_, 0);
  } else {
    std::vector<double> has_slots{slots.empty() ? 0.0 : 1.0};
    if (communicator_->rank() != 0) has_slots[0] = 0.0;
    allreduce_values(*communicator_, has_slots);
    const std::vector<OptimizerSlot> own = optimizer_->slots();
    for (std::size_t s = 0; has_slots[0] > 0.0 && s < own.size(); ++s)
      sharded_->scatter_from(0, communicator_->rank() == 0 ? slots[s].values : Tensor(), own[s].values);
    broadcast_counters(*optimizer_, *communicator_, 0);
  }
  prepare_step();
}

bool DistributedOptimizer::has_lost_memory() const {
  return exchange_ && has_error_feedback(options_.compression) && memory_steps_ == 0 &&
         optimizer_->iterations() > 0;
}

bool DistributedOptimizer::may_set_buckets() const {
  return buckets_ && !sharded_ && std::holds_alternative<compression::None>(options_.compression) &&
         options_.combine == Combine::average;
}

void DistributedOptimizer::set_buckets(BucketOptions buckets) {
  require<UsageError>(may_set_buckets(), "[distributed_optimizer] buckets stay as they are with ",
                      to_string(options_), " on ", counted(communicator_->size(), "rank"));
  check({.buckets = buckets});
  bytes_before_ += exchange_->bytes_sent();
  options_.buckets = buckets;
  exchange_ = make_exchange(optimizer_->arena(), *communicator_, options_);
  buckets_->cut_anew(buckets, exchange_);
  prepare_step();
}

ExchangeStatistics DistributedOptimizer::statistics() const {
  ExchangeStatistics statistics{.steps = steps_};
  if (!exchange_) return statistics;
  const ParameterArena& arena = optimizer_->arena();
  const double bytes =
      static_cast<double>(arena.trainable_size()) * static_cast<double>(size_of(arena.gradients().dtype()));
  const double ranks = communicator_->size();
  statistics.bytes_sent = bytes_before_ + exchange_->bytes_sent() + average_bytes_;
  statistics.plain_bytes_sent =
      static_cast<std::int64_t>(static_cast<double>(steps_) * bytes * 2.0 * (ranks - 1.0) / ranks);
  return statistics;
}

DistributedOptimizer::NoSync::NoSync(DistributedOptimizer& optimizer) : buckets_(optimizer.buckets_.get()) {
  if (buckets_) buckets_->hold();
}

DistributedOptimizer::NoSync::~NoSync() {
  if (buckets_) buckets_->release();
}

void broadcast_parameters(ParameterArena& arena, Communicator& communicator, int root) {
  compare_layouts(arena, "broadcast_parameters", communicator);
  broadcast_values(arena, communicator, root);
}

void average_buffers(ParameterArena& arena, Communicator& communicator) {
  if (communicator.size() == 1 || arena.buffers().count() == 0) return;
  communicator.allreduce(arena.buffers(), Reduction::average).wait();
  arena.bump_version();
}

void broadcast_optimizer_state(Optimizer& optimizer, Communicator& communicator, int root) {
  if (!optimizer.slots().empty())
    compare_layouts(optimizer.arena(), "broadcast_optimizer_state", communicator);
  broadcast_whole_state(optimizer, communicator, root);
}

}  // namespace ronde::inline v0
