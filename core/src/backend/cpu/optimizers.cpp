// Optimizer steps in Keras' formulas, over flat buffers. Zero gradients leave zero weights at zero, so that
// the padding of an arena stays zero.
#include <algorithm>
#include <cmath>
#include <limits>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/strided.h"

namespace ronde::inline v0 {

namespace {

// What all steps share: the effective gradient and decoupled weight decay.
template <class T>
struct Step {
  T learning_rate, grad_scale, clip, decay;

  explicit Step(const StepParams& p)
      : learning_rate(static_cast<T>(p.learning_rate)),
        grad_scale(static_cast<T>(p.grad_scale)),
        clip(p.clip_value > 0 ? static_cast<T>(p.clip_value) : std::numeric_limits<T>::infinity()),
        decay(static_cast<T>(p.learning_rate * p.weight_decay)) {}

  T gradient(T g) const {
    const T scaled = g * grad_scale;
    return scaled > clip ? clip : (scaled < -clip ? -clip : scaled);  // a NaN stays one
  }
  T decayed(T w) const { return w - decay * w; }
};

template <class F>
void for_each_weight(ThreadPool& pool, const Tensor& w, F&& f) {
  pool.parallel_for(w.count(), kElementGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) f(i);
  });
}

}  // namespace

void CpuBackend::sgd_step(const Tensor& w, const Tensor& g, const Tensor& velocity, StepParams step,
                          SgdParams params) {
  visit_real(w.dtype(), "sgd_step", [&]<class T>(T) {
    const Step<T> s(step);
    T *weight = w.data<T>(), *v = velocity.defined() ? velocity.data<T>() : nullptr;
    const T *grad = g.data<T>(), mu = static_cast<T>(params.momentum);
    for_each_weight(threads_, w, [=](std::int64_t i) {
      const T update = s.learning_rate * s.gradient(grad[i]);
      const T start = s.decayed(weight[i]);
      if (!v) {
        weight[i] = start - update;
        return;
      }
      v[i] = mu * v[i] - update;
      weight[i] = start + (params.nesterov ? mu * v[i] - update : v[i]);
    });
  });
}

void CpuBackend::rmsprop_step(const Tensor& w, const Tensor& g, const Tensor& velocity,
                              const Tensor& momentum, const Tensor& mean_gradient, StepParams step,
                              RmspropParams params) {
  visit_real(w.dtype(), "rmsprop_step", [&]<class T>(T) {
    const Step<T> s(step);
    T *weight = w.data<T>(), *v = velocity.data<T>();
    T* m = momentum.defined() ? momentum.data<T>() : nullptr;
    T* average = mean_gradient.defined() ? mean_gradient.data<T>() : nullptr;
    const T *grad = g.data<T>(), rho = static_cast<T>(params.rho), mu = static_cast<T>(params.momentum);
    const T epsilon = static_cast<T>(params.epsilon);
    for_each_weight(threads_, w, [=](std::int64_t i) {
      const T gradient = s.gradient(grad[i]);
      v[i] = rho * v[i] + (1 - rho) * gradient * gradient;
      T power = v[i];
      if (average) {
        average[i] = rho * average[i] + (1 - rho) * gradient;
        power = std::max(T(0), power - average[i] * average[i]);  // below 0 by rounding only
      }
      const T root = params.epsilon_inside_sqrt ? std::sqrt(power + epsilon) : std::sqrt(power) + epsilon;
      T update = s.learning_rate * gradient / root;
      if (m) update = m[i] = mu * m[i] + update;
      weight[i] = s.decayed(weight[i]) - update;
    });
  });
}

void CpuBackend::adam_step(const Tensor& w, const Tensor& g, const Tensor& m, const Tensor& v,
                           const Tensor& max_velocity, StepParams step, AdamParams params) {
  visit_real(w.dtype(), "adam_step", [&]<class T>(T) {
    const Step<T> s(step);
    T *weight = w.data<T>(), *first = m.data<T>(), *second = v.data<T>();
    T* largest = max_velocity.defined() ? max_velocity.data<T>() : nullptr;
    const T *grad = g.data<T>(), rate = static_cast<T>(step.learning_rate * params.bias_correction);
    const T beta_1 = static_cast<T>(params.beta_1), beta_2 = static_cast<T>(params.beta_2);
    const T epsilon = static_cast<T>(params.epsilon);
    for_each_weight(threads_, w, [=](std::int64_t i) {
      const T gradient = s.gradient(grad[i]);
      first[i] += (gradient - first[i]) * (1 - beta_1);
      second[i] += (gradient * gradient - second[i]) * (1 - beta_2);
      if (largest) largest[i] = std::max(largest[i], second[i]);
      const T root = std::sqrt(largest ? largest[i] : second[i]);
      weight[i] = s.decayed(weight[i]) - rate * first[i] / (root + epsilon);
    });
  });
}

void CpuBackend::adadelta_step(const Tensor& w, const Tensor& g, const Tensor& accumulated_gradient,
                               const Tensor& accumulated_delta, StepParams step, AdadeltaParams params) {
  visit_real(w.dtype(), "adadelta_step", [&]<class T>(T) {
    const Step<T> s(step);
    T *weight = w.data<T>(), *a = accumulated_gradient.data<T>(), *d = accumulated_delta.data<T>();
    const T *grad = g.data<T>(), rho = static_cast<T>(params.rho), epsilon = static_cast<T>(params.epsilon);
    for_each_weight(threads_, w, [=](std::int64_t i) {
      const T gradient = s.gradient(grad[i]);
      a[i] = rho * a[i] + (1 - rho) * gradient * gradient;
      const T delta = -gradient * std::sqrt(d[i] + epsilon) / std::sqrt(a[i] + epsilon);
      d[i] = rho * d[i] + (1 - rho) * delta * delta;
      weight[i] = s.decayed(weight[i]) + s.learning_rate * delta;
    });
  });
}

void CpuBackend::adagrad_step(const Tensor& w, const Tensor& g, const Tensor& accumulator, StepParams step,
                              AdagradParams params) {
  visit_real(w.dtype(), "adagrad_step", [&]<class T>(T) {
    const Step<T> s(step);
    T *weight = w.data<T>(), *a = accumulator.data<T>();
    const T *grad = g.data<T>(), epsilon = static_cast<T>(params.epsilon);
    for_each_weight(threads_, w, [=](std::int64_t i) {
      const T gradient = s.gradient(grad[i]);
      a[i] += gradient * gradient;
      weight[i] = s.decayed(weight[i]) - s.learning_rate * gradient / std::sqrt(a[i] + epsilon);
    });
  });
}

}  // namespace ronde::inline v0
