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
  refused_ = false;
  mark_ = totals.mark();
  if (statistics_.defined()) statistics_.copy_from(model_.arena->buffers());
}

// The squares of a float's whole range fit into a double, and NaN and infinity stay what they are.
bool NonFiniteGuard::gradients_are_finite() {
  const ParameterArena& arena = *model_.arena;
  model_.backend().sum_of_squares(squares_, arena.gradients().view(0, {arena.trainable_size()}));
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
  totals.return_to(mark_);
  if (statistics_.defined()) model_.arena->buffers().copy_from(statistics_);
}

double loss_witness(double loss_sum) {
  return std::isfinite(loss_sum) ? 0.0 : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace ronde::inline v0
