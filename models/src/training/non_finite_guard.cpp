#include "training/non_finite_guard.h"

#include <cmath>
#include <limits>
#include <utility>

#include <ronde/core/backend.h>

#include "training/train_step.h"

namespace ronde::inline v0 {

NonFiniteGuard::NonFiniteGuard(Model::State& model, NonFiniteOptions options, std::function<void()> end)
    : model_(model), options_(options), end_(std::move(end)), statistics_(copies_.data()) {
  if (!is_on()) return;
  Backend& backend = model.backend();
  squares_ = Tensor::zeros({}, {.dtype = DType::f64, .backend = &backend});
  verdict_ = Tensor::zeros({}, {.dtype = DType::f64, .backend = &backend});
  const Tensor& buffers = model.arena->buffers();
  if (buffers.count() > 0) copies_ = {Tensor::empty_like(buffers), Tensor::empty_like(buffers)};
  if (hears_late()) late_.emplace(backend);
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
  settle();
  note_statistics();
  mark_ = totals.mark();
}

void NonFiniteGuard::note_statistics() {
  refused_ = is_on_device_ = false;
  statistics_ = &copies_[statistics_ == copies_.data() ? 1 : 0];
  if (statistics_->defined()) statistics_->copy_from(model_.arena->buffers());
}

bool NonFiniteGuard::may_be_on_device() const {
  return is_on() && model_.communicator->size() == 1 && model_.backend().device().type == DeviceType::cuda;
}

void NonFiniteGuard::begin_update_on_device() {
  note_statistics();
  is_on_device_ = true;
}

bool NonFiniteGuard::hears_late() const {
  return end_ && options_.action == NonFiniteAction::abort && may_be_on_device();
}

// Nothing times a number is nothing, or a NaN.
const Tensor& NonFiniteGuard::look(const Tensor& loss) {
  model_.arena->complete_gradients();
  enqueue_squares();
  model_.backend().accumulate(verdict_, squares_, 0.0);
  model_.backend().accumulate(verdict_, loss, 0.0);
  return verdict_;
}

void NonFiniteGuard::end_update_on_device(std::function<void()> undo) {
  if (late_) {
    undecided_.push_back({std::move(undo), statistics_});
    late_->ask(verdict_);
    if (late_->asked() == LateReader::kMost) hear();
    return;
  }
  refused_ = !std::isfinite(verdict_.item());
  if (!refused_) return;
  verdict_.fill(0.0);
  undo();
}

void NonFiniteGuard::settle() {
  while (!undecided_.empty()) hear();
}

void NonFiniteGuard::hear() {
  const Undecided oldest = std::move(undecided_.front());
  undecided_.pop_front();
  if (std::isfinite(late_->take())) return;
  undecided_.clear();  // refused as well, and not begun again
  refused_ = true;
  statistics_ = oldest.statistics;
  oldest.undo();
  end_();
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
         model_.optimizer->optimizer().iterations() >= local.start_step && !is_synchronized(model_);
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
  if (statistics_->defined()) model_.arena->buffers().copy_from(*statistics_);
}

double loss_witness(double loss_sum) {
  return std::isfinite(loss_sum) ? 0.0 : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace ronde::inline v0
