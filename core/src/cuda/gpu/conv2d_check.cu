// Whether the result of a convolution that a library computed is one: a sample of its elements, by their definition.
#include "cuda/gpu/direct_conv2d.cuh"

namespace ronde::inline v0::cuda {

namespace {

constexpr double kHuge = 1e30;  // sums that may be infinite in float

struct Sums {
  double total = 0, magnitudes = 0;

  __device__ void add(double a, double b) {
    total += a * b;
    magnitudes += a * b < 0 ? -(a * b) : a * b;
  }
};

/// One of each of kConvSamples ranges of equal length, at a place in it that varies.
__device__ Index place_of(Index sample, Index count) {
  const Index begin = sample * count / kConvSamples, end = (sample + 1) * count / kConvSamples;
  return end - begin < 2 ? begin : begin + sample * 40503 % (end - begin);
}

__device__ bool is_far(double got, const Sums& sums, const ConvTolerance& tolerance) {
  if (!(sums.magnitudes < kHuge)) return false;
  const double off = got - sums.total, size = sums.total < 0 ? -sums.total : sums.total;
  return !((off < 0 ? -off : off) <= tolerance.of_products * sums.magnitudes + tolerance.of_result * size);
}

template <class T, class Bias>
__global__ void check_forward(Conv p, const T* out, const T* x, const T* weight, const Bias* bias, bool relu,
                              ConvTolerance tolerance, unsigned char* is_wrong) {
  begin_kernel();
  for (Index sample = first_element(); sample < kConvSamples; sample += element_step()) {
    const Index i = place_of(sample, p.n * p.oh * p.ow * p.o);
    Sums sums;
    if (bias) sums.add(wider(bias[i % p.o]), 1);
    add_forward(p, i, x, weight, [&](double a, double b) { sums.add(a, b); });
    if (relu && sums.total <= 0) sums.total = 0;
    is_wrong[sample] = is_far(wider(out[i]), sums, tolerance);
  }
}

template <class T>
__global__ void check_by_input(Conv p, const T* grad_x, const T* grad_out, const T* weight,
                               ConvTolerance tolerance, unsigned char* is_wrong) {
  begin_kernel();
  for (Index sample = first_element(); sample < kConvSamples; sample += element_step()) {
    const Index i = place_of(sample, p.n * p.h * p.w * p.c);
    Sums sums;
    add_by_input(p, i, grad_out, weight, [&](double a, double b) { sums.add(a, b); });
    is_wrong[sample] = is_far(wider(grad_x[i]), sums, tolerance);
  }
}

template <class T, class Weight>
__global__ void check_by_weight(Conv p, const Weight* grad_weight, const T* grad_out, const T* x,
                                ConvTolerance tolerance, unsigned char* is_wrong) {
  begin_kernel();
  for (Index sample = blockIdx.x; sample < kConvSamples; sample += gridDim.x) {
    const Index i = place_of(sample, p.o * p.kh * p.kw * p.group_in);
    Sums sums;
    add_by_weight(p, i, grad_out, x, [&](double a, double b) { sums.add(a, b); });
    sums.total = sum_block(sums.total);
    sums.magnitudes = sum_block(sums.magnitudes);
    if (threadIdx.x == 0) is_wrong[sample] = is_far(wider(grad_weight[i]), sums, tolerance);
  }
}

}  // namespace

void run_conv2d_check(const Call& call, const ConvTolerance& tolerance, unsigned char* is_wrong, const Place& place) {
  const Operand& out = call[0];
  const Conv2dParams& params = call.attributes.conv;
  const cudaStream_t stream = native(place.stream);
  if (call.op == Op::conv2d)
    with_reals(out.dtype, call[3].defined ? call[3].dtype : out.dtype, [&]<class T, class Bias>(T, Bias) {
      launch(check_forward<T, Bias>, blocks_for(kConvSamples, 32), 32, stream, conv_of(call[1], call[2], out, params),
             data<T>(out), data<T>(call[1]), data<T>(call[2]), data<Bias>(call[3]),
             call.attributes.epilogue == Epilogue::relu, tolerance, is_wrong);
    });
  else if (call.op == Op::conv2d_backward_input)
    with_real(out.dtype, [&]<class T>(T) {
      launch(check_by_input<T>, blocks_for(kConvSamples, 32), 32, stream, conv_of(out, call[2], call[1], params),
             data<T>(out), data<T>(call[1]), data<T>(call[2]), tolerance, is_wrong);
    });
  else
    with_reals(call[2].dtype, out.dtype, [&]<class T, class Weight>(T, Weight) {
      launch(check_by_weight<T, Weight>, kConvSamples, kThreads, stream, conv_of(call[3], out, call[2], params),
             data<Weight>(out), data<T>(call[2]), data<T>(call[3]), tolerance, is_wrong);
    });
}

}  // namespace ronde::inline v0::cuda
