/// Optimizer steps in Keras' formulas, one pass each; see core/src/backend/cpu/optimizers.cpp, the reference.
/// Memory decides their speed, so they round alike on all instruction sets: ranks on machines of several
/// kinds keep equal weights.
#pragma once

#include "backend/onednn/kernels/kernels.h"

#if defined(__clang__)
#pragma clang fp contract(off)
#else
#pragma GCC push_options
#pragma GCC optimize("fp-contract=off")
#endif

namespace ronde::inline v0 {
namespace {

inline float effective(float g, const StepFactors& s) {
  const float scaled = g * s.grad_scale;
  return scaled > s.clip ? s.clip : (scaled < -s.clip ? -s.clip : scaled);  // a NaN stays one
}

template <bool nesterov>
inline void sgd_momentum(float* w, const float* g, float* velocity, std::int64_t n, StepFactors s, float mu) {
  RONDE_INDEPENDENT_STEPS
  for (std::int64_t i = 0; i < n; ++i) {
    const float update = s.learning_rate * effective(g[i], s);
    const float v = mu * velocity[i] - update;
    velocity[i] = v;
    w[i] = w[i] - s.decay * w[i] + (nesterov ? mu * v - update : v);
  }
}

void sgd(float* w, const float* g, float* velocity, std::int64_t n, StepFactors s, float mu, bool nesterov) {
  if (velocity)
    return nesterov ? sgd_momentum<true>(w, g, velocity, n, s, mu)
                    : sgd_momentum<false>(w, g, velocity, n, s, mu);
  RONDE_INDEPENDENT_STEPS
  for (std::int64_t i = 0; i < n; ++i) w[i] = w[i] - s.decay * w[i] - s.learning_rate * effective(g[i], s);
}

/// Epsilon stands within the root or behind it; adding the other place's 0 changes no bit.
template <bool centered, bool with_momentum>
inline void rmsprop_pass(float* w, const float* g, float* velocity, float* momentum, float* mean,
                         std::int64_t n, StepFactors s, RmspropParams p) {
  const float rho = static_cast<float>(p.rho), mu = static_cast<float>(p.momentum);
  const float epsilon = static_cast<float>(p.epsilon);
  const float within = p.epsilon_inside_sqrt ? epsilon : 0.0f,
              behind = p.epsilon_inside_sqrt ? 0.0f : epsilon;
  RONDE_INDEPENDENT_STEPS
  for (std::int64_t i = 0; i < n; ++i) {
    const float gradient = effective(g[i], s);
    float power = rho * velocity[i] + (1 - rho) * gradient * gradient;
    velocity[i] = power;
    if constexpr (centered) {
      const float average = rho * mean[i] + (1 - rho) * gradient;
      mean[i] = average;
      power -= average * average;
      power = power < 0 ? 0.0f : power;  // below 0 by rounding only
    }
    float update = s.learning_rate * gradient / (__builtin_sqrtf(power + within) + behind);
    if constexpr (with_momentum) update = momentum[i] = mu * momentum[i] + update;
    w[i] = w[i] - s.decay * w[i] - update;
  }
}

void rmsprop(float* w, const float* g, float* velocity, float* momentum, float* mean, std::int64_t n,
             StepFactors s, RmspropParams p) {
  if (mean && momentum) return rmsprop_pass<true, true>(w, g, velocity, momentum, mean, n, s, p);
  if (mean) return rmsprop_pass<true, false>(w, g, velocity, momentum, mean, n, s, p);
  if (momentum) return rmsprop_pass<false, true>(w, g, velocity, momentum, mean, n, s, p);
  rmsprop_pass<false, false>(w, g, velocity, momentum, mean, n, s, p);
}

template <bool amsgrad>
inline void adam_pass(float* w, const float* g, float* m, float* v, float* largest, std::int64_t n,
                      StepFactors s, float keep_1, float keep_2, float epsilon) {
  RONDE_INDEPENDENT_STEPS
  for (std::int64_t i = 0; i < n; ++i) {
    const float gradient = effective(g[i], s);
    const float first = m[i] + (gradient - m[i]) * keep_1;
    const float second = v[i] + (gradient * gradient - v[i]) * keep_2;
    m[i] = first;
    v[i] = second;
    float power = second;
    if constexpr (amsgrad) power = largest[i] = largest[i] < second ? second : largest[i];
    w[i] = w[i] - s.decay * w[i] - s.learning_rate * first / (__builtin_sqrtf(power) + epsilon);
  }
}

void adam(float* w, const float* g, float* m, float* v, float* largest, std::int64_t n, StepFactors s,
          AdamParams p) {
  const float keep_1 = 1 - static_cast<float>(p.beta_1), keep_2 = 1 - static_cast<float>(p.beta_2);
  const auto pass = largest ? adam_pass<true> : adam_pass<false>;
  pass(w, g, m, v, largest, n, s, keep_1, keep_2, static_cast<float>(p.epsilon));
}

void adadelta(float* w, const float* g, float* accumulated, float* deltas, std::int64_t n, StepFactors s,
              AdadeltaParams p) {
  const float rho = static_cast<float>(p.rho), epsilon = static_cast<float>(p.epsilon);
  RONDE_INDEPENDENT_STEPS
  for (std::int64_t i = 0; i < n; ++i) {
    const float gradient = effective(g[i], s);
    const float a = rho * accumulated[i] + (1 - rho) * gradient * gradient;
    const float delta = -gradient * __builtin_sqrtf(deltas[i] + epsilon) / __builtin_sqrtf(a + epsilon);
    accumulated[i] = a;
    deltas[i] = rho * deltas[i] + (1 - rho) * delta * delta;
    w[i] = w[i] - s.decay * w[i] + s.learning_rate * delta;
  }
}

void adagrad(float* w, const float* g, float* accumulator, std::int64_t n, StepFactors s, AdagradParams p) {
  const float epsilon = static_cast<float>(p.epsilon);
  RONDE_INDEPENDENT_STEPS
  for (std::int64_t i = 0; i < n; ++i) {
    const float gradient = effective(g[i], s);
    const float a = accumulator[i] + gradient * gradient;
    accumulator[i] = a;
    w[i] = w[i] - s.decay * w[i] - s.learning_rate * gradient / __builtin_sqrtf(a + epsilon);
  }
}

}  // namespace
}  // namespace ronde::inline v0

#if !defined(__clang__)
#pragma GCC pop_options
#endif
