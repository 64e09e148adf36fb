// Single operations of a backend, so that one that is far slower than its neighbours shows: nets of every
// kind have some that no reference net has.
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <ronde/core/backend.h>
#include <ronde/core/counted.h>
#include <ronde/core/error.h>
#include <ronde/core/machine_speed.h>
#include <ronde/core/thread_pool.h>

#include "stopwatch.h"

namespace bench {
namespace {

using namespace ronde;

/// Counted are operations of arithmetic, of a convolution or product, or else bytes read and written once.
struct Operation {
  std::string name;
  double flop, bytes;
  std::function<void()> call;
};

class Operations {
 public:
  explicit Operations(Backend& backend) : b_(backend) {
    elementwise();
    views();
    reductions();
    rows();
    pools();
    convolutions();
  }
  const std::vector<Operation>& all() const { return all_; }

 private:
  Tensor some(const Shape& shape, DType dtype = DType::f32) {
    const Tensor x = Tensor::empty(shape, {.dtype = dtype, .backend = &b_});
    b_.fill(x, dtype == DType::f32 ? 0.5 : 1.0);
    return x;
  }
  template <class... Tensors>
  static double bytes_of(const Tensors&... tensors) {
    return (static_cast<double>(tensors.byte_size()) + ...);
  }
  void add(std::string name, double bytes, std::function<void()> call) {
    all_.push_back({std::move(name), 0, bytes, std::move(call)});
  }

  void elementwise() {
    const Tensor x = some(kImages), y = some(kImages), z = some(kImages);
    const auto unary = [=, this](const char* name, UnaryOp op) {
      add(name, bytes_of(x, z), [=, this] { b_.unary(op, z, x, {0.5, 0.25}); });
      add(cat(name, ", gradient"), bytes_of(x, y, z), [=, this] {
        b_.unary_backward(op, z, x, y, y, {0.5, 0.25});
      });
    };
    unary("relu", UnaryOp::relu);
    unary("elu", UnaryOp::elu);
    unary("gelu", UnaryOp::gelu);
    unary("silu", UnaryOp::silu);
    unary("tanh", UnaryOp::tanh);
    unary("sigmoid", UnaryOp::sigmoid);
    unary("softplus", UnaryOp::softplus);
    unary("exp", UnaryOp::exp);
    unary("log", UnaryOp::log);
    unary("sqrt", UnaryOp::sqrt);
    unary("power", UnaryOp::power);
    const auto binary = [=, this](const char* name, const Tensor& other, const Tensor& as) {
      add(name, bytes_of(x, other, z), [=, this] { b_.binary(BinaryOp::multiply, z, x, as); });
    };
    const Tensor channels = some({32}), means = some({64, 1, 1, 32}), one = some({});
    binary("product", y, y);
    binary("product with a row", channels, channels.broadcast_to(kImages));
    binary("product with a row an image", means, means.broadcast_to(kImages));
    binary("product with a scalar", one, one.broadcast_to(kImages));
  }

  void views() {
    const Tensor x = some(kImages), z = some(kImages), u = some(kImages, DType::u8);
    const auto copy = [this](const char* name, const Tensor& to, const Tensor& from) {
      add(name, bytes_of(to, from), [=, this] { b_.copy(to, from); });
    };
    copy("copy", z, x);
    copy("copy of half the channels", z.slice(3, 0, 16), x.slice(3, 16, 32));
    copy("copy of half the columns", z.slice(2, 0, 16), x.slice(2, 16, 32));
    copy("copy to channels first", z, x.permute({0, 3, 1, 2}));
    copy("copy from bytes", z, u);
  }

  void reductions() {
    const Tensor x = some(kImages);
    const auto reduce = [=, this](const char* name, ReduceOp op, const Shape& shape) {
      const Tensor out = some(shape);
      add(name, bytes_of(x, out), [=, this] { b_.reduce(op, out, x); });
    };
    reduce("sum of channels", ReduceOp::sum, {64, 32, 32, 1});
    reduce("sum of pixels", ReduceOp::sum, {64, 1, 1, 32});
    reduce("sum of all but channels", ReduceOp::sum, {1, 1, 1, 32});
    reduce("sum of all", ReduceOp::sum, {1, 1, 1, 1});
    reduce("largest of channels", ReduceOp::max, {64, 32, 32, 1});
    reduce("largest of pixels", ReduceOp::max, {64, 1, 1, 32});
    reduce("largest of all but channels", ReduceOp::max, {1, 1, 1, 32});
  }

  void rows() {
    for (const std::int64_t k : {4, 10, 32, 100, 1000, 10000}) {
      const std::int64_t n = kElements / k;
      const Tensor x = some({n, k}), z = some({n, k}), losses = some({n}), labels = some({n}, DType::i32),
                   weight = some({k}), sums = some({k}), grad = some({}), mean = some({n}),
                   variance = some({n});
      const auto op = [&, this](const char* name, double passes, std::function<void()> call) {
        add(cat(name, " of ", k), passes * bytes_of(x), std::move(call));
      };
      op("softmax", 2, [=, this] { b_.softmax(z, x); });
      op("softmax, gradient,", 3, [=, this] { b_.softmax_backward(z, x, x); });
      op("log-softmax", 2, [=, this] { b_.log_softmax(z, x); });
      op("cross-entropy", 2, [=, this] { b_.softmax_cross_entropy(losses, z, x, labels, 0.0); });
      op("cross-entropy, gradient,", 2,
         [=, this] { b_.softmax_cross_entropy_backward(z, grad.broadcast_to({n}), x, labels, 0.0); });
      op("layer norm", 2, [=, this] { b_.layer_norm(z, mean, variance, x, weight, weight, 1e-3); });
      op("layer norm, gradient,", 3,
         [=, this] { b_.layer_norm_backward(z, sums, sums, x, x, mean, variance, weight, 1e-3); });
    }
  }

  void pools() {
    const Tensor x = some(kImages), z = some(kImages);
    for (const auto& [window, stride] : {std::pair<std::int64_t, std::int64_t>{2, 2}, {3, 2}, {3, 1}}) {
      const Pool2dParams params{.window = {window, window}, .stride = {stride, stride}};
      const std::int64_t size = (32 - window) / stride + 1;
      const Tensor out = some({64, size, size, 32}), argmax = some(out.shape(), DType::u8);
      const auto op = [&, this](const char* name, std::function<void()> call) {
        add(cat(name, " ", window, "x", window, " / ", stride), bytes_of(x, out), std::move(call));
      };
      op("max pooling", [=, this] { b_.max_pool2d(out, argmax, x, params); });
      op("max pooling, gradient,", [=, this] { b_.max_pool2d_backward(z, out, argmax, params); });
      op("average pooling", [=, this] { b_.average_pool2d(out, x, params); });
      op("average pooling, gradient,", [=, this] { b_.average_pool2d_backward(z, out, params); });
    }
  }

  void convolutions() {
    for (const std::int64_t kernel : {1, 3, 5})
      for (const auto& [c, o] : {std::pair<std::int64_t, std::int64_t>{3, 16},
                                 {16, 1},
                                 {32, 3},
                                 {1, 64},
                                 {64, 10},
                                 {8, 8},
                                 {32, 32},
                                 {128, 128}})
        for (const std::int64_t stride : {1, 2}) convolution(kernel, c, o, stride);
  }
  void convolution(std::int64_t kernel, std::int64_t c, std::int64_t o, std::int64_t stride) {
    const std::int64_t margin = kernel / 2, size = (31 + stride) / stride;
    const Conv2dParams params{.stride = {stride, stride}, .padding = {margin, margin, margin, margin}};
    const Tensor x = some({16, 32, 32, c}), grad_x = some(x.shape()), weight = some({o, kernel, kernel, c}),
                 grad_weight = some(weight.shape()), bias = some({o}), out = some({16, size, size, o});
    const double flop = 2.0 * static_cast<double>(out.count() * kernel * kernel * c);
    const auto op = [&, this](const char* pass, std::function<void()> call) {
      all_.push_back({cat("convolution ", kernel, "x", kernel, " / ", stride, " of ", c, " to ", o, pass),
                      flop, 0, std::move(call)});
    };
    op("", [=, this] { b_.conv2d(out, x, weight, bias, params, Epilogue::none); });
    op(", input's gradient", [=, this] { b_.conv2d_backward_input(grad_x, out, weight, params); });
    op(", weights' gradient", [=, this] { b_.conv2d_backward_weight(grad_weight, bias, out, x, params); });
  }

  static constexpr std::int64_t kElements = std::int64_t{1} << 21;
  const Shape kImages{64, 32, 32, 32};

  Backend& b_;
  std::vector<Operation> all_;
};

}  // namespace

void print_operations(const std::string& pattern) {
  const Operations operations(default_backend());
  ThreadPool& threads = default_backend().threads();
  std::printf("%9s %14s  %s, %s, FMA peak %.0f GF/s\n", "ms", "rate", default_backend().name().c_str(),
              cat(counted(threads.size(), "thread")).c_str(), measure_fma_peak(threads));
  for (const Operation& op : operations.all()) {
    if (op.name.find(pattern) == std::string::npos) continue;
    constexpr double kSeconds = 0.05;
    const double ms = time_calls(kSeconds, op.call).best * 1e3;
    std::printf("%9.3f %9.1f %s  %s\n", ms, (op.flop > 0 ? op.flop : op.bytes) / ms * 1e-6,
                op.flop > 0 ? "GF/s" : "GB/s", op.name.c_str());
  }
}

}  // namespace bench

int main(int argc, char** argv) {
  bench::print_operations(argc > 1 ? argv[1] : "");
}
