// What threads may not change: results for a fixed number of threads, and the number of threads itself.
#include <filesystem>

#include "backend_ops/compare.h"

namespace ronde::test {
namespace {

std::int64_t tasks_of_process() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return std::distance(begin(tasks), end(tasks));
}

struct Layer {
  Tensor x, weight, bias, y, grad_x, grad_weight, grad_bias;

  explicit Layer(Backend& b)
      : x(copies({random({13, 8, 8, 32}, 1)}, b, DType::f32)[0]),
        weight(copies({random({32, 3, 3, 32}, 2)}, b, DType::f32)[0]),
        bias(copies({random({32}, 3)}, b, DType::f32)[0]),
        y(unwritten(b, {13, 6, 6, 32}, DType::f32)),
        grad_x(unwritten(b, x.shape(), DType::f32)),
        grad_weight(unwritten(b, weight.shape(), DType::f32)),
        grad_bias(unwritten(b, bias.shape(), DType::f32)) {}

  void run() const {
    Backend& b = x.backend();
    b.conv2d(y, x, weight, bias, {}, Epilogue::relu);
    b.conv2d_backward_weight(grad_weight, grad_bias, y, x, {});
    b.conv2d_backward_input(grad_x, y, weight, {});
    b.reduce(ReduceOp::sum, grad_bias.reshape({1, 32}), y.reshape({13 * 36, 32}));
    const Tensor product = Tensor::empty({32 * 9, 32 * 9}, y.options());
    b.matmul(product, weight.reshape({32, 32 * 9}), weight.reshape({32, 32 * 9}), {.transpose_a = true});
  }
  bool same_bits(const Layer& other) const {
    const auto equal = [](const Tensor& a, const Tensor& b) {
      return a.to_vector<float>() == b.to_vector<float>();
    };
    return equal(y, other.y) && equal(grad_x, other.grad_x) && equal(grad_weight, other.grad_weight) &&
           equal(grad_bias, other.grad_bias);
  }
};

TEST(Threads, ResultsDoNotDependOnTiming) {
  for (Backend* b : tested_backends())
    for (const int threads : {1, 2, 3}) {
      SCOPED_TRACE(cat(b->name(), ", ", threads, " threads"));
      b->threads().resize(threads);
      const Layer first(*b);
      first.run();
      for (int repeat = 0; repeat < 20; ++repeat) {
        const Layer again(*b);
        again.run();
        EXPECT_TRUE(again.same_bits(first));
      }
      b->threads().resize(1);
    }
}

TEST(Threads, OnlyThePoolHasThreads) {
  for (Backend* b : tested_backends())
    for (const int threads : {1, 3}) {
      SCOPED_TRACE(cat(b->name(), ", ", threads, " threads"));
      b->threads().resize(threads);
      const std::int64_t before = tasks_of_process();
      Layer(*b).run();
      EXPECT_LE(tasks_of_process(), before);  // fewer: one that was about to end
      b->threads().resize(1);
    }
}

TEST(Threads, KernelsMayRunInSeveralThreadsAtOnce) {
  ThreadPool callers(3);
  for (Backend* b : tested_backends()) {
    b->threads().resize(2);
    const Layer expected(*b);
    expected.run();
    std::vector<Layer> layers(3, Layer(*b));
    for (Layer& layer : layers) layer = Layer(*b);
    callers.parallel_for(3, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        for (int repeat = 0; repeat < 5; ++repeat) layers[static_cast<std::size_t>(i)].run();
    });
    for (const Layer& layer : layers) EXPECT_TRUE(layer.same_bits(expected)) << b->name();
    b->threads().resize(1);
  }
}

}  // namespace
}  // namespace ronde::test
