#include "cuda/numbers_on_device.h"

#include <tuple>

namespace ronde::inline v0::cuda {

namespace {

auto fields(const StepNumbers& n) {
  return std::tuple(n.step.learning_rate, n.step.grad_scale, n.step.clip_value, n.step.weight_decay,
                    n.sgd.momentum, n.sgd.nesterov, n.rmsprop.rho, n.rmsprop.momentum, n.rmsprop.epsilon,
                    n.rmsprop.centered, n.rmsprop.epsilon_inside_sqrt, n.adam.beta_1, n.adam.beta_2,
                    n.adam.epsilon, n.adam.bias_correction, n.adadelta.rho, n.adadelta.epsilon,
                    n.adagrad.epsilon);
}

}  // namespace

NumbersOnDevice::~NumbersOnDevice() {
  for (const Block& block : blocks_) backend_.allocator().deallocate(block.memory);
}

const StepNumbers* NumbersOnDevice::next(const StepNumbers& numbers) {
  if (next_ == blocks_.size()) blocks_.push_back({.memory = backend_.allocate(sizeof numbers)});
  Block& block = blocks_[next_++];
  block.is_sent = block.is_sent && fields(block.numbers) == fields(numbers);
  block.numbers = numbers;
  return static_cast<const StepNumbers*>(block.memory);
}

void NumbersOnDevice::send() {
  for (Block& block : blocks_) {
    if (block.is_sent) continue;
    backend_.copy_from_host(block.memory, &block.numbers, sizeof block.numbers);
    block.is_sent = true;
    ++sent_;
  }
}

}  // namespace ronde::inline v0::cuda
