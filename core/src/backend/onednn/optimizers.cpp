// Optimizer steps: one fused pass over flat buffers, split over the threads.
#include <limits>

#include "backend/cpu/strided.h"
#include "backend/onednn/backend.h"

namespace ronde::inline v0 {

namespace {

StepFactors factors_of(const StepParams& step) {
  return {.learning_rate = static_cast<float>(step.learning_rate),
          .grad_scale = static_cast<float>(step.grad_scale),
          .clip = step.clip_value > 0 ? static_cast<float>(step.clip_value)
                                      : std::numeric_limits<float>::infinity(),
          .decay = static_cast<float>(step.learning_rate * step.weight_decay)};
}

float* from(float* buffer, std::int64_t begin) {
  return buffer ? buffer + begin : nullptr;
}

}  // namespace

void OneDnnBackend::sgd_step(const Tensor& w, const Tensor& g, const Tensor& velocity, StepParams step,
                             SgdParams params) {
  if (!dense_floats(w, g) || !dense_or_missing(velocity))
    return WithBfloat16::sgd_step(w, g, velocity, step, params);
  float *weight = w.data<float>(), *grad = g.data<float>(), *v = floats_or_null(velocity);
  threads().parallel_for(w.count(), kElementGrain, [&](std::int64_t b, std::int64_t e) {
    kernels_.sgd(weight + b, grad + b, from(v, b), e - b, factors_of(step),
                 static_cast<float>(params.momentum), params.nesterov);
  });
}

void OneDnnBackend::rmsprop_step(const Tensor& w, const Tensor& g, const Tensor& velocity,
                                 const Tensor& momentum, const Tensor& mean_gradient, StepParams step,
                                 RmspropParams params) {
  if (!dense_floats(w, g, velocity) || !dense_or_missing(momentum) || !dense_or_missing(mean_gradient))
    return WithBfloat16::rmsprop_step(w, g, velocity, momentum, mean_gradient, step, params);
  float *weight = w.data<float>(), *grad = g.data<float>(), *v = velocity.data<float>();
  float *m = floats_or_null(momentum), *average = floats_or_null(mean_gradient);
  threads().parallel_for(w.count(), kElementGrain, [&](std::int64_t b, std::int64_t e) {
    kernels_.rmsprop(weight + b, grad + b, v + b, from(m, b), from(average, b), e - b, factors_of(step),
                     params);
  });
}

void OneDnnBackend::adam_step(const Tensor& w, const Tensor& g, const Tensor& m, const Tensor& v,
                              const Tensor& max_velocity, StepParams step, AdamParams params) {
  if (!dense_floats(w, g, m, v) || !dense_or_missing(max_velocity))
    return WithBfloat16::adam_step(w, g, m, v, max_velocity, step, params);
  float *weight = w.data<float>(), *grad = g.data<float>(), *first = m.data<float>();
  float *second = v.data<float>(), *largest = floats_or_null(max_velocity);
  StepFactors factors = factors_of(step);
  factors.learning_rate = static_cast<float>(step.learning_rate * params.bias_correction);
  threads().parallel_for(w.count(), kElementGrain, [&](std::int64_t b, std::int64_t e) {
    kernels_.adam(weight + b, grad + b, first + b, second + b, from(largest, b), e - b, factors, params);
  });
}

void OneDnnBackend::adadelta_step(const Tensor& w, const Tensor& g, const Tensor& accumulated_gradient,
                                  const Tensor& accumulated_delta, StepParams step, AdadeltaParams params) {
  if (!dense_floats(w, g, accumulated_gradient, accumulated_delta))
    return WithBfloat16::adadelta_step(w, g, accumulated_gradient, accumulated_delta, step, params);
  float *weight = w.data<float>(), *grad = g.data<float>();
  float *a = accumulated_gradient.data<float>(), *d = accumulated_delta.data<float>();
  threads().parallel_for(w.count(), kElementGrain, [&](std::int64_t b, std::int64_t e) {
    kernels_.adadelta(weight + b, grad + b, a + b, d + b, e - b, factors_of(step), params);
  });
}

void OneDnnBackend::adagrad_step(const Tensor& w, const Tensor& g, const Tensor& accumulator, StepParams step,
                                 AdagradParams params) {
  if (!dense_floats(w, g, accumulator)) return WithBfloat16::adagrad_step(w, g, accumulator, step, params);
  float *weight = w.data<float>(), *grad = g.data<float>(), *a = accumulator.data<float>();
  threads().parallel_for(w.count(), kElementGrain, [&](std::int64_t b, std::int64_t e) {
    kernels_.adagrad(weight + b, grad + b, a + b, e - b, factors_of(step), params);
  });
}

}  // namespace ronde::inline v0
