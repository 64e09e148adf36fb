// Optimizer steps in Keras' formulas, one pass over the flat buffers of an arena. Zero gradients leave zero
// weights at zero, so that the padding of an arena stays zero.
#include "cuda/gpu/launch.cuh"

namespace ronde::inline v0::cuda {

namespace {

/// The numbers of a step: those of the call or, where a graph repeats it, those that lie on the device by
/// then.
struct Numbers {
  StepNumbers given;
  const StepNumbers* on_device;
  __device__ const StepNumbers& get() const { return on_device ? *on_device : given; }
};

/// What all steps share: the effective gradient and decoupled weight decay.
template <class T>
struct Step {
  T learning_rate, grad_scale, clip, decay;

  __device__ explicit Step(const StepParams& p)
      : learning_rate(static_cast<T>(p.learning_rate)),
        grad_scale(static_cast<T>(p.grad_scale)),
        clip(static_cast<T>(p.clip_value)),
        decay(static_cast<T>(p.learning_rate * p.weight_decay)) {}

  __device__ T gradient(T g) const {
    const T scaled = g * grad_scale;
    if (!(clip > 0)) return scaled;
    return scaled > clip ? clip : (scaled < -clip ? -clip : scaled);  // a NaN stays one
  }
  __device__ T decayed(T w) const { return w - decay * w; }
};

/// Where weights are written to, and their copy in bf16 if one is kept.
template <class T>
struct Weights {
  T* values;
  __nv_bfloat16* rounded;  ///< nullptr: none

  __device__ T operator[](Index i) const { return values[i]; }
  __device__ void set(Index i, T value) const {
    values[i] = value;
    if (rounded) rounded[i] = __float2bfloat16_rn(static_cast<float>(value));
  }
};

template <class T>
__global__ void sgd_kernel(Index count, Numbers numbers, Weights<T> w, T* velocity, const T* g) {
  const Step<T> s(numbers.get().step);
  const T momentum = static_cast<T>(numbers.get().sgd.momentum);
  const bool nesterov = numbers.get().sgd.nesterov;
  for (Index i = first_element(); i < count; i += element_step()) {
    const T update = s.learning_rate * s.gradient(g[i]);
    const T start = s.decayed(w[i]);
    if (!velocity) {
      w.set(i, start - update);
      continue;
    }
    const T v = momentum * velocity[i] - update;
    velocity[i] = v;
    w.set(i, start + (nesterov ? momentum * v - update : v));
  }
}

template <class T>
struct Rmsprop {
  T rho, momentum, epsilon;
  bool inside;

  __device__ explicit Rmsprop(const RmspropParams& p)
      : rho(static_cast<T>(p.rho)),
        momentum(static_cast<T>(p.momentum)),
        epsilon(static_cast<T>(p.epsilon)),
        inside(p.epsilon_inside_sqrt) {}
};

template <class T>
__global__ void rmsprop_kernel(Index count, Numbers numbers, Weights<T> w, T* velocity, T* momentum,
                               T* average, const T* g) {
  const Step<T> s(numbers.get().step);
  const Rmsprop<T> p(numbers.get().rmsprop);
  for (Index i = first_element(); i < count; i += element_step()) {
    const T gradient = s.gradient(g[i]);
    const T v = p.rho * velocity[i] + (1 - p.rho) * gradient * gradient;
    velocity[i] = v;
    T power = v;
    if (average) {
      const T mean = p.rho * average[i] + (1 - p.rho) * gradient;
      average[i] = mean;
      power = v - mean * mean;
      power = power < 0 ? T(0) : power;  // by rounding only
    }
    const T root = p.inside ? sqrt(power + p.epsilon) : sqrt(power) + p.epsilon;
    T update = s.learning_rate * gradient / root;
    if (momentum) update = momentum[i] = p.momentum * momentum[i] + update;
    w.set(i, s.decayed(w[i]) - update);
  }
}

template <class T>
struct Adam {
  T rate, beta_1, beta_2, epsilon;

  __device__ explicit Adam(const StepNumbers& n)
      : rate(static_cast<T>(n.step.learning_rate * n.adam.bias_correction)),
        beta_1(static_cast<T>(n.adam.beta_1)),
        beta_2(static_cast<T>(n.adam.beta_2)),
        epsilon(static_cast<T>(n.adam.epsilon)) {}
};

template <class T>
__global__ void adam_kernel(Index count, Numbers numbers, Weights<T> w, T* m, T* v, T* largest, const T* g) {
  const Step<T> s(numbers.get().step);
  const Adam<T> p(numbers.get());
  for (Index i = first_element(); i < count; i += element_step()) {
    const T gradient = s.gradient(g[i]);
    const T first = m[i] + (gradient - m[i]) * (1 - p.beta_1);
    const T second = v[i] + (gradient * gradient - v[i]) * (1 - p.beta_2);
    m[i] = first;
    v[i] = second;
    T power = second;
    if (largest) power = largest[i] = largest[i] < second ? second : largest[i];
    w.set(i, s.decayed(w[i]) - p.rate * first / (sqrt(power) + p.epsilon));
  }
}

template <class T>
__global__ void adadelta_kernel(Index count, Numbers numbers, Weights<T> w, T* gradients, T* deltas,
                                const T* g) {
  const Step<T> s(numbers.get().step);
  const T rho = static_cast<T>(numbers.get().adadelta.rho);
  const T epsilon = static_cast<T>(numbers.get().adadelta.epsilon);
  for (Index i = first_element(); i < count; i += element_step()) {
    const T gradient = s.gradient(g[i]);
    const T a = rho * gradients[i] + (1 - rho) * gradient * gradient;
    gradients[i] = a;
    const T delta = -gradient * sqrt(deltas[i] + epsilon) / sqrt(a + epsilon);
    deltas[i] = rho * deltas[i] + (1 - rho) * delta * delta;
    w.set(i, s.decayed(w[i]) + s.learning_rate * delta);
  }
}

template <class T>
__global__ void adagrad_kernel(Index count, Numbers numbers, Weights<T> w, T* accumulator, const T* g) {
  const Step<T> s(numbers.get().step);
  const T epsilon = static_cast<T>(numbers.get().adagrad.epsilon);
  for (Index i = first_element(); i < count; i += element_step()) {
    const T gradient = s.gradient(g[i]);
    const T a = accumulator[i] + gradient * gradient;
    accumulator[i] = a;
    w.set(i, s.decayed(w[i]) - s.learning_rate * gradient / sqrt(a + epsilon));
  }
}

}  // namespace

void run_optimizer(const Call& call, const Place& place) {
  const Operand& w = call[0];
  const Index count = w.count();
  if (count == 0) return;
  const Numbers n{call.attributes.step, call.numbers};
  const unsigned blocks = blocks_for(count);
  const cudaStream_t stream = native(place.stream);
  with_single_or_double(w.dtype, [&]<class T>(T) {
    const auto at = [&](int i) { return data<T>(call[i]); };
    const Weights<T> weights{at(0), data<__nv_bfloat16>(call.rounded)};
    switch (call.op) {
      case Op::sgd_step:
        sgd_kernel<T><<<blocks, kThreads, 0, stream>>>(count, n, weights, at(1), at(2));
        return;
      case Op::rmsprop_step:
        rmsprop_kernel<T><<<blocks, kThreads, 0, stream>>>(count, n, weights, at(1), at(2), at(3), at(4));
        return;
      case Op::adam_step:
        adam_kernel<T><<<blocks, kThreads, 0, stream>>>(count, n, weights, at(1), at(2), at(3), at(4));
        return;
      case Op::adadelta_step:
        adadelta_kernel<T><<<blocks, kThreads, 0, stream>>>(count, n, weights, at(1), at(2), at(3));
        return;
      default:
        adagrad_kernel<T><<<blocks, kThreads, 0, stream>>>(count, n, weights, at(1), at(2));
    }
  });
}

}  // namespace ronde::inline v0::cuda
