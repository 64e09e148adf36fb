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

  // With relu, and max-pooling if it is asked for; an image of the data needs no gradient.
  struct Conv {
    std::int64_t filters, padding;
    bool pooled = false, first = false;
  };
  void conv(const Conv& c) {
    const std::string name = cat("conv", ++convs_, c.pooled ? " + pool" : "");
    const Conv2dParams params{.padding = {c.padding, c.padding, c.padding, c.padding}};
    const Tensor x = x_, weight = tensor({c.filters, 3, 3, x.size(3)}), bias = tensor({c.filters});
    const Size2d whole{x.size(1) + 2 * c.padding - 2, x.size(2) + 2 * c.padding - 2};
    const double flop = 2.0 * static_cast<double>(x.size(0) * whole.h * whole.w * 9 * x.size(3) * c.filters);
    const std::int64_t shrink = c.pooled ? 2 : 1;
    const Tensor y = tensor({x.size(0), whole.h / shrink, whole.w / shrink, c.filters});
    const Tensor argmax = c.pooled ? Tensor::empty(y.shape(), {.dtype = DType::u8}) : Tensor();
    add(name + " forward", flop, [&] {
      if (c.pooled)
        backend_.conv2d_max_pool2d(y, argmax, x, weight, bias, params, Epilogue::relu, {});
      else
        backend_.conv2d(y, x, weight, bias, params, Epilogue::relu);
    });
    const Conv2dBackward layer{.grad_x = c.first ? Tensor() : Tensor::empty_like(x),
                               .grad_weight = Tensor::empty_like(weight),
                               .grad_bias = Tensor::empty_like(bias),
                               .grad_out = tensor(y.shape()),
                               .x = x,
                               .weight = weight,
                               .out = y,
                               .argmax = argmax,
                               .conv_out = whole,
                               .params = params};
    add(name + " backward", c.first ? flop : 2 * flop, [&] { backend_.conv2d_backward(layer); });
    x_ = y;
    parameters_ += weight.count() + bias.count();
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
    std::printf("%-26s %9s %6s %9s\n", "kernel", "ms", "%", "rate");
    for (const Row& row : rows_)
      std::printf("%-26s %9.3f %6.1f %9.1f %s\n", row.name.c_str(), row.ms, 100 * row.ms / total,
                  row.work / row.ms * 1e-6, row.is_bytes ? "GB/s" : "GF/s");
    std::printf("%-26s %9.3f        %9.0f images/s\n", "sum", total,
                static_cast<double>(options_.batch) / total * 1e3);
  }

 private:
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
  walk.conv({.filters = 32, .padding = mnist ? 0 : 1, .first = true});
  walk.conv({.filters = mnist ? 64 : 32, .padding = 0, .pooled = true});
  walk.dropout();
  if (!mnist) {
    walk.conv({.filters = 64, .padding = 1});
    walk.conv({.filters = 64, .padding = 0, .pooled = true});
    walk.dropout();
  }
  walk.dense(mnist ? 128 : 512, Epilogue::relu);
  walk.dropout();
  walk.dense(10, Epilogue::none);
  walk.loss();
  walk.adam();
  walk.print();
}

}  // namespace bench
