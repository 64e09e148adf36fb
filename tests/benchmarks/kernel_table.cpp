#include "kernel_table.h"

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include <ronde/core/backend.h>
#include <ronde/core/error.h>

#include "stopwatch.h"

namespace bench {

using namespace ronde;

namespace {

struct Row {
  std::string name;
  double ms;
  double work;  // floating-point operations, or bytes where that is what counts
  bool is_bytes;
};

// Walks through a net's layers and times what each of them calls.
class Walk {
 public:
  Walk(const Options& options, Shape image) : options_(options), backend_(default_backend()) {
    x_ = tensor({options.batch, image[0], image[1], image[2]});
  }

  struct Conv {
    std::int64_t filters, padding;
    bool is_small = false;  // goes with the next one: a first layer
  };
  // Two convolutions with relu, pooling and dropout, in the calls that a net makes of them.
  void block(Conv first, Conv second) {
    if (first.is_small) return conv_layer(&first, second);
    conv_alone(first);
    conv_layer(nullptr, second);
  }

  void dropout() {
    const Tensor x = x_, y = Tensor::empty_like(x);
    const Tensor keys = Tensor::zeros({x.size(0), 2}, {.dtype = DType::i64});
    for (const char* pass : {" forward", " backward"})
      add_bytes("dropout" + std::string(pass), {x, y}, [&] { backend_.dropout(y, x, keys, {.rate = 0.25}); });
  }

  void dense(std::int64_t units, Epilogue epilogue) {
    const std::string name = "dense" + std::to_string(units);
    const Tensor x = x_.reshape({x_.size(0), -1}), weight = tensor({x.size(1), units}),
                 bias = tensor({units});
    const Tensor y = tensor({x.size(0), units}), grad_y = Tensor::empty_like(y);
    const Tensor grad_x = Tensor::empty_like(x), grad_weight = Tensor::empty_like(weight);
    const Tensor grad_bias = Tensor::empty_like(bias);
    const double flop = 2.0 * static_cast<double>(x.count() * units);
    add(name + " forward", flop, [&] { backend_.dense(y, x, weight, bias, epilogue); });
    if (epilogue == Epilogue::relu) relu_backward(name, grad_y, y);
    add(name + " backward weight", flop,
        [&] { backend_.matmul(grad_weight, x, grad_y, {.transpose_a = true}); });
    add(name + " backward input", flop,
        [&] { backend_.matmul(grad_x, grad_y, weight, {.transpose_b = true}); });
    add_bytes(name + " backward bias", {grad_y}, [&] {
      backend_.reduce(ReduceOp::sum, grad_bias.reshape({1, units}), grad_y);
    });
    x_ = y;
    parameters_ += weight.count() + bias.count();
  }

  void loss() {
    const Tensor logits = x_, probabilities = Tensor::empty_like(logits), grad = Tensor::empty_like(logits);
    const Tensor losses = tensor({logits.size(0)});
    const Tensor labels = Tensor::zeros({logits.size(0)}, {.dtype = DType::i32});
    add_bytes("softmax cross-entropy", {logits, probabilities}, [&] {
      backend_.softmax_cross_entropy(losses, probabilities, logits, labels, 0.0);
      backend_.softmax_cross_entropy_backward(grad, losses, probabilities, labels, 0.0);
    });
  }

  void adam() {
    const Tensor w = tensor({parameters_}), g = tensor({parameters_}), m = tensor({parameters_});
    const Tensor v = tensor({parameters_});
    add_bytes("adam", {w, w, g, m, m, v, v}, [&] { backend_.adam_step(w, g, m, v, {}, {}, {}); });
  }

  void print() const {
    double total = 0;
    for (const Row& row : rows_) total += row.ms;
    std::printf("%-30s %9s %6s %9s\n", "kernel", "ms", "%", "rate");
    for (const Row& row : rows_)
      std::printf("%-30s %9.3f %6.1f %9.1f %s\n", row.name.c_str(), row.ms, 100 * row.ms / total,
                  row.work / row.ms * 1e-6, row.is_bytes ? "GB/s" : "GF/s");
    std::printf("%-30s %9.3f        %9.0f images/s\n", "sum", total,
                static_cast<double>(options_.batch) / total * 1e3);
  }

 private:
  static Conv2dStage stage(const Conv& c, std::int64_t channels) {
    return {.weight = tensor({c.filters, 3, 3, channels}),
            .bias = tensor({c.filters}),
            .params = {.padding = {c.padding, c.padding, c.padding, c.padding}},
            .epilogue = Epilogue::relu};
  }
  static Shape out_shape(const Shape& x, const Conv& c) {
    return {x[0], x[1] + 2 * c.padding - 2, x[2] + 2 * c.padding - 2, c.filters};
  }
  // Floating-point operations of one pass.
  static double work(const Shape& out, std::int64_t channels) {
    return 2.0 * static_cast<double>(out.count() * 9 * channels);
  }

  void conv_alone(const Conv& c) {
    const Conv2dStage conv = stage(c, x_.size(3));
    const Tensor x = x_, y = tensor(out_shape(x.shape(), c));
    const std::string name = cat("conv", ++convs_);
    add(name + " forward", work(y.shape(), x.size(3)),
        [&] { backend_.conv2d(y, x, conv.weight, conv.bias, conv.params, conv.epilogue); });
    const Conv2dBackward backward{.grad_x = Tensor::empty_like(x),
                                  .grad_weight = Tensor::empty_like(conv.weight),
                                  .grad_bias = Tensor::empty_like(conv.bias),
                                  .grad_out = tensor(y.shape()),
                                  .x = x,
                                  .weight = conv.weight,
                                  .out = y,
                                  .conv_out = {y.size(1), y.size(2)},
                                  .params = conv.params};
    add(name + " backward", 2 * work(y.shape(), x.size(3)), [&] { backend_.conv2d_backward(backward); });
    parameters_ += conv.weight.count() + conv.bias.count();
    x_ = y;
  }

  void conv_layer(const Conv* front, const Conv& c) {
    Conv2dLayer layer{.x = x_};
    Shape in = x_.shape();
    double of_front = 0;
    std::string name = cat("conv", ++convs_);
    if (front) {
      layer.front = stage(*front, in[3]);
      of_front = work(out_shape(in, *front), in[3]);
      in = out_shape(in, *front);
      name += cat(" + conv", ++convs_);
      parameters_ += layer.front->weight.count() + front->filters;
    }
    const Shape whole = out_shape(in, c);
    layer.conv = stage(c, in[3]);
    layer.out = tensor({whole[0], whole[1] / 2, whole[2] / 2, whole[3]});
    layer.argmax = Tensor::empty(layer.out.shape(), {.dtype = DType::u8});
    layer.sample_keys = Tensor::zeros({in[0], 2}, {.dtype = DType::i64});
    layer.dropout = {.rate = 0.25};
    add(name + " + pool + drop", of_front + work(whole, in[3]), [&] { backend_.conv2d_layer(layer); });
    const Conv2dLayerBackward backward = backward_of(layer, {whole[1], whole[2]});
    add("  backward", of_front + 2 * work(whole, in[3]), [&] { backend_.conv2d_layer_backward(backward); });
    parameters_ += layer.conv.weight.count() + c.filters;
    x_ = layer.out;
  }

  // All gradients, but for that of a front's input.
  static Conv2dLayerBackward backward_of(const Conv2dLayer& layer, Size2d conv_out) {
    Conv2dLayerBackward backward{.front = layer.front, .dropout_scale = 1 / (1 - layer.dropout.rate)};
    backward.conv = {.grad_x = layer.front ? Tensor() : Tensor::empty_like(layer.x),
                     .grad_weight = Tensor::empty_like(layer.conv.weight),
                     .grad_bias = Tensor::empty_like(layer.conv.bias),
                     .grad_out = tensor(layer.out.shape()),
                     .x = layer.x,
                     .weight = layer.conv.weight,
                     .out = layer.out,
                     .argmax = layer.argmax,
                     .conv_out = conv_out,
                     .params = layer.conv.params};
    if (!layer.front) return backward;
    backward.grad_front_weight = Tensor::empty_like(layer.front->weight);
    backward.grad_front_bias = Tensor::empty_like(layer.front->bias);
    return backward;
  }

  static Tensor tensor(const Shape& shape) { return Tensor::full(shape, 0.01); }

  void relu_backward(const std::string& name, const Tensor& grad, const Tensor& y) {
    const Tensor grad_y = tensor(y.shape());
    add_bytes(name + " relu backward", {grad, y, y},
              [&] { backend_.unary_backward(UnaryOp::relu, grad, grad_y, y, y, {}); });
  }
  void add(const std::string& name, double work, const std::function<void()>& run, bool is_bytes = false) {
    rows_.push_back({name, time_calls(options_.seconds / 10, run).median * 1e3, work, is_bytes});
  }
  void add_bytes(const std::string& name, const std::vector<Tensor>& touched,
                 const std::function<void()>& run) {
    double bytes = 0;
    for (const Tensor& t : touched) bytes += static_cast<double>(t.byte_size());
    add(name, bytes, run, true);
  }

  const Options& options_;
  Backend& backend_;
  Tensor x_;
  std::vector<Row> rows_;
  std::int64_t parameters_ = 0;
  int convs_ = 0;
};

}  // namespace

void print_kernel_table(const Options& options) {
  const bool mnist = options.net == "mnist";
  Walk walk(options, mnist ? Shape{28, 28, 1} : Shape{32, 32, 3});
  walk.block({.filters = 32, .padding = mnist ? 0 : 1, .is_small = true},
             {.filters = mnist ? 64 : 32, .padding = 0});
  if (!mnist) walk.block({.filters = 64, .padding = 1}, {.filters = 64, .padding = 0});
  walk.dense(mnist ? 128 : 512, Epilogue::relu);
  walk.dropout();
  walk.dense(10, Epilogue::none);
  walk.loss();
  walk.adam();
  walk.print();
}

}  // namespace bench
