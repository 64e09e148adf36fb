// Optimizer steps in Keras' formulas, one pass over the flat buffers of an arena. Zero gradients leave zero
// weights at zero, so that the padding of an arena stays zero.
#include "cuda/gpu/packs.cuh"

namespace ronde::inline v0::cuda {

namespace {

/// The numbers of a step: those of the call or, where a graph repeats it, those that lie on the device by
/// then.
struct Numbers {
  StepNumbers given;
  const StepNumbers* on_device;
  const double* gate;
  __device__ const StepNumbers& get() const { return on_device ? *on_device : given; }
};

/// What all steps share: the effective gradient and decoupled weight decay.
template <class T>
struct Step {
  T grad_scale, clip, decay;

  __device__ explicit Step(const StepParams& p)
      : grad_scale(static_cast<T>(p.grad_scale)),
        clip(static_cast<T>(p.clip_value)),
        decay(static_cast<T>(p.learning_rate * p.weight_decay)) {}

  __device__ T gradient(T g) const {
    const T scaled = g * grad_scale;
    if (!(clip > 0)) return scaled;
    return scaled > clip ? clip : (scaled < -clip ? -clip : scaled);  // a NaN stays one
  }
  __device__ T decayed(T w) const { return w - decay * w; }
};

constexpr int kMostStates = 3;

/// What a step writes: weights, their copy in bf16 if one is kept, and the optimizer's state. nullptr: there
/// is none.
template <class T>
struct Written {
  T* weights;
  __nv_bfloat16* rounded;
  T* states[kMostStates];
};

// A rule makes one element's step: from the weight w, its effective gradient g and its states s, of which
// those may be missing that `has` says no to. `decayed` is w after weight decay.

template <class T>
struct Sgd {
  static constexpr int kStates = 1;  // velocity
  T learning_rate, momentum;
  bool nesterov;

  __device__ explicit Sgd(const StepNumbers& n)
      : learning_rate(static_cast<T>(n.step.learning_rate)),
        momentum(static_cast<T>(n.sgd.momentum)),
        nesterov(n.sgd.nesterov) {}

  __device__ T operator()(T decayed, T g, T* s, const bool* has) const {
    const T update = learning_rate * g;
    if (!has[0]) return decayed - update;
    const T v = momentum * s[0] - update;
    s[0] = v;
    return decayed + (nesterov ? momentum * v - update : v);
  }
};

template <class T>
struct Rmsprop {
  static constexpr int kStates = 3;  // velocity, momentum, mean gradient
  T learning_rate, rho, factor, epsilon;
  bool inside;

  __device__ explicit Rmsprop(const StepNumbers& n)
      : learning_rate(static_cast<T>(n.step.learning_rate)),
        rho(static_cast<T>(n.rmsprop.rho)),
        factor(static_cast<T>(n.rmsprop.momentum)),
        epsilon(static_cast<T>(n.rmsprop.epsilon)),
        inside(n.rmsprop.epsilon_inside_sqrt) {}

  __device__ T operator()(T decayed, T g, T* s, const bool* has) const {
    const T v = rho * s[0] + (1 - rho) * g * g;
    s[0] = v;
    T power = v;
    if (has[2]) {
      const T mean = rho * s[2] + (1 - rho) * g;
      s[2] = mean;
      power = v - mean * mean;
      power = power < 0 ? T(0) : power;  // by rounding only
    }
    const T root = inside ? sqrt(power + epsilon) : sqrt(power) + epsilon;
    T update = learning_rate * g / root;
    if (has[1]) update = s[1] = factor * s[1] + update;
    return decayed - update;
  }
};

template <class T>
struct Adam {
  static constexpr int kStates = 3;  // m, v, the largest v
  T rate, beta_1, beta_2, epsilon;

  __device__ explicit Adam(const StepNumbers& n)
      : rate(static_cast<T>(n.step.learning_rate * n.adam.bias_correction)),
        beta_1(static_cast<T>(n.adam.beta_1)),
        beta_2(static_cast<T>(n.adam.beta_2)),
        epsilon(static_cast<T>(n.adam.epsilon)) {}

  __device__ T operator()(T decayed, T g, T* s, const bool* has) const {
    const T first = s[0] + (g - s[0]) * (1 - beta_1);
    const T second = s[1] + (g * g - s[1]) * (1 - beta_2);
    s[0] = first;
    s[1] = second;
    T power = second;
    if (has[2]) power = s[2] = s[2] < second ? second : s[2];
    return decayed - rate * first / (sqrt(power) + epsilon);
  }
};

template <class T>
struct Adadelta {
  static constexpr int kStates = 2;  // of gradients and of changes
  T learning_rate, rho, epsilon;

  __device__ explicit Adadelta(const StepNumbers& n)
      : learning_rate(static_cast<T>(n.step.learning_rate)),
        rho(static_cast<T>(n.adadelta.rho)),
        epsilon(static_cast<T>(n.adadelta.epsilon)) {}

  __device__ T operator()(T decayed, T g, T* s, const bool*) const {
    const T a = rho * s[0] + (1 - rho) * g * g;
    s[0] = a;
    const T delta = -g * sqrt(s[1] + epsilon) / sqrt(a + epsilon);
    s[1] = rho * s[1] + (1 - rho) * delta * delta;
    return decayed + learning_rate * delta;
  }
};

template <class T>
struct Adagrad {
  static constexpr int kStates = 1;
  T learning_rate, epsilon;

  __device__ explicit Adagrad(const StepNumbers& n)
      : learning_rate(static_cast<T>(n.step.learning_rate)), epsilon(static_cast<T>(n.adagrad.epsilon)) {}

  __device__ T operator()(T decayed, T g, T* s, const bool*) const {
    const T a = s[0] + g * g;
    s[0] = a;
    return decayed - learning_rate * g / sqrt(a + epsilon);
  }
};

/// The step of N elements from i on.
template <int N, class T, class Rule>
__device__ void step_of(Index i, const Step<T>& step, const Rule& rule, const Written<T>& written,
                        const T* g) {
  constexpr int kStates = Rule::kStates;
  Pack<T, N> states[kStates];
  bool has[kStates];
#pragma unroll
  for (int s = 0; s < kStates; ++s) {
    has[s] = written.states[s] != nullptr;
    if (has[s]) states[s] = load_pack<N>(written.states[s] + i);
  }
  Pack<T, N> weights = load_pack<N>(written.weights + i);
  const Pack<T, N> gradients = load_pack<N>(g + i);
  Pack<__nv_bfloat16, N> rounded_weights;
#pragma unroll
  for (int k = 0; k < N; ++k) {
    T of_element[kStates];
#pragma unroll
    for (int s = 0; s < kStates; ++s) of_element[s] = has[s] ? states[s].at[k] : T(0);
    weights.at[k] = rule(step.decayed(weights.at[k]), step.gradient(gradients.at[k]), of_element, has);
    rounded_weights.at[k] = rounded<__nv_bfloat16>(weights.at[k]);
#pragma unroll
    for (int s = 0; s < kStates; ++s) states[s].at[k] = of_element[s];
  }
#pragma unroll
  for (int s = 0; s < kStates; ++s)
    if (has[s]) store_pack<N>(written.states[s] + i, states[s]);
  store_pack<N>(written.weights + i, weights);
  if (written.rounded) store_pack<N>(written.rounded + i, rounded_weights);
}

/// Of no step: the copy may not have been one before.
template <int N, class T>
__device__ void round_weights(Index i, const Written<T>& written) {
  const Pack<T, N> weights = load_pack<N>(written.weights + i);
  Pack<__nv_bfloat16, N> result;
#pragma unroll
  for (int k = 0; k < N; ++k) result.at[k] = rounded<__nv_bfloat16>(weights.at[k]);
  store_pack<N>(written.rounded + i, result);
}

template <int N, class Rule, class T>
__global__ void step_kernel(Index count, Numbers numbers, Written<T> written, const T* g) {
  begin_kernel();
  if (!is_open(numbers.gate)) {
    if (written.rounded)
      for_each_pack<N>(count, [&](auto n, Index i) { round_weights<decltype(n)::value>(i, written); });
    return;
  }
  const Step<T> step(numbers.get().step);
  const Rule rule(numbers.get());
  for_each_pack<N>(count, [&](auto n, Index i) { step_of<decltype(n)::value>(i, step, rule, written, g); });
}

template <class Rule, class T>
void run_step(const Call& call, const Written<T>& written, const T* g, cudaStream_t stream) {
  constexpr int kN = pack_size<T>();
  const Index count = call[0].count();
  const Numbers numbers{call.attributes.step, call.numbers, call.gate};
  const auto [a, b, c] = written.states;
  if (begin_packs(written.weights, written.rounded, a, b, c, g))
    launch(step_kernel<kN, Rule, T>, blocks_for_packs<kN>(count), kThreads, stream, count, numbers, written,
           g);
  else
    launch(step_kernel<1, Rule, T>, blocks_for(count), kThreads, stream, count, numbers, written, g);
}

}  // namespace

void run_optimizer(const Call& call, const Place& place) {
  const Operand& w = call[0];
  if (w.count() == 0) return;
  const cudaStream_t stream = native(place.stream);
  with_single_or_double(w.dtype, [&]<class T>(T) {
    // Weights, states, then the gradient.
    Written<T> written{data<T>(w), data<__nv_bfloat16>(call.rounded), {}};
    for (int i = 1; i < call.outputs; ++i) written.states[i - 1] = data<T>(call[i]);
    const T* g = data<T>(call[call.outputs]);
    switch (call.op) {
      case Op::sgd_step:
        return run_step<Sgd<T>>(call, written, g, stream);
      case Op::rmsprop_step:
        return run_step<Rmsprop<T>>(call, written, g, stream);
      case Op::adam_step:
        return run_step<Adam<T>>(call, written, g, stream);
      case Op::adadelta_step:
        return run_step<Adadelta<T>>(call, written, g, stream);
      default:
        return run_step<Adagrad<T>>(call, written, g, stream);
    }
  });
}

}  // namespace ronde::inline v0::cuda
