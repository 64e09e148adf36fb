#include "training/non_finite_guard.h"

#include <cmath>
#include <limits>

#include <ronde/core/backend.h>

#include "training/train_step.h"

namespace ronde::inline v0 {

NonFiniteGuard::NonFiniteGuard(Model::State& model, NonFiniteOptions options)
    : model_(model), options_(options) {
  if (!is_on()) return;
  Backend& backend = model.backend();
  squares_ = Tensor::zeros({}, {.dtype = DType::f64, .backend = &backend});
  const Tensor& buffers = model.arena->buffers();
  if (buffers.count() > 0) statistics_ = Tensor::empty_like(buffers);
  model.optimizer->set_gate(gate());
}

DistributedOptimizer::Gate NonFiniteGuard::gate() {
  if (!is_on()) return {};
  return [this](double witness) { return may_update(witness); };
}

NonFiniteGuard::~NonFiniteGuard() {
  if (is_on()) model_.optimizer->set_gate({});
}

void NonFiniteGuard::begin_update(const RunningTotals& totals) {
  if (!is_on()) return;
  note_statistics();
  mark_ = totals.mark();
}

void NonFiniteGuard::note_statistics() {
  refused_ = is_on_device_ = false;
  if (statistics_.defined()) statistics_.copy_from(model_.arena->buffers());
}

bool NonFiniteGuard::may_be_on_device() const {
  return is_on() && model_.communicator->size() == 1 && model_.backend().device().type == DeviceType::cuda;
}

void NonFiniteGuard::begin_update_on_device() {
  note_statistics();
  is_on_device_ = true;
}

// Nothing times a loss is nothing, or a NaN.
const Tensor& NonFiniteGuard::look(const Tensor& loss) {
  model_.arena->complete_gradients();
  enqueue_squares();
  model_.backend().accumulate(squares_, loss, 0.0);
  return squares_;
}

bool NonFiniteGuard::has_passed() {
  refused_ = !std::isfinite(squares_.item());
  return !refused_;
}

// The squares of a float's whole range fit into a double, and NaN and infinity stay what they are.
void NonFiniteGuard::enqueue_squares() {
  const ParameterArena& arena = *model_.arena;
  model_.backend().sum_of_squares(squares_, arena.gradients().view(0, {arena.trainable_size()}));
}

bool NonFiniteGuard::gradients_are_finite() {
  enqueue_squares();
  return std::isfinite(squares_.item());
}

bool NonFiniteGuard::decides_alone() const {
  const DistributedOptimizer& optimizer = *model_.optimizer;
  const LocalSteps& local = optimizer.options().local_steps;
  return options_.action == NonFiniteAction::abort && model_.communicator->size() > 1 && local.period > 1 &&
         model_.optimizer->optimizer().iterations() >= local.start_step &&
         find_synchronized(*model_.module) == nullptr;
}

bool NonFiniteGuard::may_update(double witness) {
  if (is_on_device_) return true;
  bool finite = std::isfinite(witness) && gradients_are_finite();
  if (!model_.optimizer->gradients_agree() && !decides_alone()) {
    std::vector<double> bad{finite ? 0.0 : 1.0};
    allreduce_values(*model_.communicator, bad, Reduction::max);
    finite = bad[0] == 0.0;
  }
  refused_ = !finite;
  return finite;
}

void NonFiniteGuard::give_back(RunningTotals& totals) {
  if (!is_on_device_) totals.return_to(mark_);
  if (statistics_.defined()) model_.arena->buffers().copy_from(statistics_);
}

double loss_witness(double loss_sum) {
  return std::isfinite(loss_sum) ? 0.0 : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace ronde::inline v0
