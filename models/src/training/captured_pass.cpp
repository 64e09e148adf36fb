#include "training/captured_pass.h"

#include <ronde/core/backend.h>
#include <ronde/core/ops.h>

namespace ronde::inline v0 {

namespace {

bool is_same(const Tensor& a, const Tensor& b) {
  return a.raw() == b.raw() && a.shape() == b.shape();
}

}  // namespace

CapturedPass::CapturedPass(Model::State& model) : model_(model) {
  const bool is_on_gpu = model.backend().device().type == DeviceType::cuda;
  if (is_on_gpu && model.communicator->size() == 1 && find_synchronized(*model.module) == nullptr)
    step_.emplace(model.backend());
}

bool CapturedPass::takes(const StepData& data) {
  if (!step_ || data.inputs.size(0) == 0 || !data.sample_keys.defined()) return false;
  if (!inputs_.defined()) {
    inputs_ = data.inputs;
    targets_ = data.targets;
    keys_ = data.sample_keys;
  }
  return is_same(inputs_, data.inputs) && is_same(targets_, data.targets) && is_same(keys_, data.sample_keys);
}

void CapturedPass::run(const StepData& data, RunningTotals& totals) {
  ParameterArena& arena = *model_.arena;
  const bool called = step_->run([&] {
    arena.zero_gradients();  // again, when a capture was broken off
    const Variable outputs = (*model_.module)(inputs_, model_.context(true, keys_));
    const Variable loss = sum((*model_.loss)(outputs, targets_));
    loss.backward();
    outputs_ = outputs.value();
    loss_ = loss.value();
  });
  if (!called) arena.use_gradients(arena.gradients());  // the device has written them all
  totals.add(loss_, outputs_, data.targets, data.inputs.size(0));
}

std::string CapturedPass::take_fallback() {
  if (told_ || !step_ || step_->fallback().empty()) return {};
  told_ = true;
  return step_->fallback();
}

}  // namespace ronde::inline v0
