#include "cuda/gpu/conv_graph.h"

namespace ronde::inline v0::cuda {

namespace {

constexpr std::int64_t kAlignment = 16;  // of what we hand over; checked when a plan is made

bool is_known(DType dtype) {
  return dtype == DType::f32 || dtype == DType::bf16;
}

class Builder {
 public:
  explicit Builder(const Call& call) : call_(call) {}

  ConvGraph take() { return std::move(graph_); }

  /// Operand `index`, (n, h, w, c) or OHWI in memory, in cuDNN's order of axes.
  std::size_t image(int index) {
    const auto& shape = call_[index].shape;
    const std::int64_t h = shape[1], w = shape[2], c = shape[3];
    return tensor({shape[0], c, h, w}, {h * w * c, 1, w * c, c}, index);
  }
  /// A bias: one value a channel.
  std::size_t channels(int index) {
    const std::int64_t c = call_[index].shape[0];
    return tensor({1, c, 1, 1}, {c, 1, c, c}, index);
  }
  /// What only the next operation sees, shaped as operand `like`.
  std::size_t between(int like) {
    const auto& shape = call_[like].shape;
    const std::int64_t h = shape[1], w = shape[2], c = shape[3];
    return tensor({shape[0], c, h, w}, {h * w * c, 1, w * c, c}, -1);
  }

  std::size_t convolution() {
    const Conv2dParams& p = call_.attributes.conv;
    const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
    CudnnDescriptor& d = add(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    d.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, {2})
        .set_type(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT)
        .set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode)
        .set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, {p.padding.top, p.padding.left})
        .set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, {p.padding.bottom, p.padding.right})
        .set(CUDNN_ATTR_CONVOLUTION_DILATIONS, {p.dilation.h, p.dilation.w})
        .set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, {p.stride.h, p.stride.w})
        .finalize();
    return graph_.parts.size() - 1;
  }

  std::size_t pointwise(cudnnPointwiseMode_t mode) {
    CudnnDescriptor& d = add(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    d.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode)
        .set_type(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_DATA_FLOAT);
    if (mode == CUDNN_POINTWISE_RELU_FWD) {
      const cudnnNanPropagation_t keeps = CUDNN_PROPAGATE_NAN;  // a diverged run must not look healthy
      d.set(CUDNN_ATTR_POINTWISE_NAN_PROPAGATION, CUDNN_TYPE_NAN_PROPOGATION, 1, &keeps);
    }
    d.finalize();
    return graph_.parts.size() - 1;
  }

  struct ConvolutionNames {
    cudnnBackendDescriptorType_t type;
    cudnnBackendAttributeName_t x, w, y, convolution, alpha, beta;
  };

  void convolve(const ConvolutionNames& names, std::size_t x, std::size_t w, std::size_t y) {
    const float one = 1.0f, zero = 0.0f;
    CudnnDescriptor operation(names.type);
    operation.set(names.convolution, part(convolution()))
        .set(names.x, part(x))
        .set(names.w, part(w))
        .set(names.y, part(y))
        .set(names.alpha, CUDNN_TYPE_FLOAT, 1, &one)
        .set(names.beta, CUDNN_TYPE_FLOAT, 1, &zero)
        .finalize();
    graph_.operations.push_back(std::move(operation));
  }

  void add_bias(std::size_t x, std::size_t bias, std::size_t y) {
    CudnnDescriptor operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, part(pointwise(CUDNN_POINTWISE_ADD)))
        .set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, part(x))
        .set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, part(bias))
        .set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, part(y))
        .finalize();
    graph_.operations.push_back(std::move(operation));
  }

  void apply(cudnnPointwiseMode_t function, std::size_t x, std::size_t y) {
    CudnnDescriptor operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, part(pointwise(function)))
        .set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, part(x))
        .set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, part(y))
        .finalize();
    graph_.operations.push_back(std::move(operation));
  }

 private:
  const CudnnDescriptor& part(std::size_t i) const { return graph_.parts[i]; }

  CudnnDescriptor& add(cudnnBackendDescriptorType_t type) { return graph_.parts.emplace_back(type); }

  std::size_t tensor(std::initializer_list<std::int64_t> shape, std::initializer_list<std::int64_t> strides,
                     int operand) {
    const bool is_virtual = operand < 0;
    graph_.operands.push_back(operand);
    CudnnDescriptor& d = add(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    // What only the next operation sees is not rounded.
    const bool is_bfloat16 = !is_virtual && call_[operand].dtype == DType::bf16;
    d.set_type(CUDNN_ATTR_TENSOR_DATA_TYPE, is_bfloat16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_FLOAT)
        .set(CUDNN_ATTR_TENSOR_DIMENSIONS, shape)
        .set(CUDNN_ATTR_TENSOR_STRIDES, strides)
        .set(CUDNN_ATTR_TENSOR_UNIQUE_ID, {static_cast<std::int64_t>(graph_.operands.size())})
        .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, {kAlignment})
        .set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &is_virtual)
        .finalize();
    return graph_.parts.size() - 1;
  }

  const Call& call_;
  ConvGraph graph_;
};

constexpr Builder::ConvolutionNames kForward{CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
                                             CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                                             CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                                             CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
                                             CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                                             CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
                                             CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
constexpr Builder::ConvolutionNames kByInput{CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
                                             CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
                                             CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                                             CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
                                             CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                                             CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
                                             CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
constexpr Builder::ConvolutionNames kByWeight{CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
                                              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
                                              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
                                              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
                                              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
                                              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
                                              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};

// Operands: out, x, weight, bias.
void build_forward(Builder& b, const Call& call) {
  const bool has_bias = call[3].defined, has_relu = call.attributes.epilogue == Epilogue::relu;
  const std::size_t x = b.image(1), weight = b.image(2);
  std::size_t now = has_bias || has_relu ? b.between(0) : b.image(0);
  b.convolve(kForward, x, weight, now);
  if (has_bias) {
    const std::size_t next = has_relu ? b.between(0) : b.image(0);
    b.add_bias(now, b.channels(3), next);
    now = next;
  }
  if (has_relu) b.apply(CUDNN_POINTWISE_RELU_FWD, now, b.image(0));
}

// Operands: grad_weight, grad_bias, grad_out, x. A convolution itself writes no other dtype than it reads:
// sums that stay floats are the business of an operation behind it.
void build_by_weight(Builder& b, const Call& call) {
  const std::size_t grad_weight = b.image(0), grad_out = b.image(2), x = b.image(3);
  if (call[0].dtype == call[3].dtype) return b.convolve(kByWeight, x, grad_weight, grad_out);
  const std::size_t sums = b.between(0);
  b.convolve(kByWeight, x, sums, grad_out);
  b.apply(CUDNN_POINTWISE_IDENTITY, sums, grad_weight);
}

}  // namespace

bool is_for_cudnn(const Call& call) {
  for (int i = 0; i < call.operands; ++i)
    if (call[i].defined && (!is_known(call[i].dtype) || call[i].count() == 0 ||
                            reinterpret_cast<std::uintptr_t>(call[i].data) % kAlignment != 0))
      return false;
  return call.attributes.conv.groups == 1;
}

ConvGraph make_conv_graph(const Call& call) {
  Builder b(call);
  if (call.op == Op::conv2d) {
    build_forward(b, call);
  } else if (call.op == Op::conv2d_backward_input) {  // grad_x, grad_out, weight
    const std::size_t grad_x = b.image(0), grad_out = b.image(1), weight = b.image(2);
    b.convolve(kByInput, grad_x, weight, grad_out);
  } else {
    build_by_weight(b, call);
  }
  return b.take();
}

CudnnDescriptor make_operation_graph(const ConvGraph& graph, cudnnHandle_t handle) {
  std::vector<cudnnBackendDescriptor_t> operations;
  for (const CudnnDescriptor& operation : graph.operations) operations.push_back(operation.get());
  CudnnDescriptor d(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  d.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
        static_cast<std::int64_t>(operations.size()), operations.data());
  if (handle) d.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
  d.finalize();
  return d;
}

}  // namespace ronde::inline v0::cuda
