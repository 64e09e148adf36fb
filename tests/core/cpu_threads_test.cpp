// The oracle gives the same bits for any number of threads, and its kernels may run side by side.
#include <cstring>
#include <functional>
#include <thread>

#include "backend/cpu/cpu_backend.h"
#include "core/testing.h"

namespace ronde {
namespace {

using Kernel = std::function<std::vector<Tensor>(Backend&)>;

Tensor real(Backend& b, const Shape& shape, std::uint64_t seed = 1) {
  return test::random_tensor(b, shape, DType::f32, seed);
}

const std::vector<std::pair<const char*, Kernel>> kKernels = {
    {"unary",
     [](Backend& b) {
       const Tensor x = real(b, {300, 150}), y = Tensor::empty({150, 300}, x.options());
       b.unary(UnaryOp::gelu, y, x.permute({1, 0}), {});
       return std::vector{y};
     }},
    {"reduce",
     [](Backend& b) {
       const Tensor x = real(b, {500, 90});
       const Tensor rows = Tensor::empty({500, 1}, x.options()),
                    columns = Tensor::empty({1, 90}, x.options());
       b.reduce(ReduceOp::sum, rows, x);
       b.reduce(ReduceOp::mean, columns, x);
       return std::vector{rows, columns};
     }},
    {"sum_of_squares",
     [](Backend& b) {
       const Tensor out = Tensor::zeros({}, {.dtype = DType::f64, .backend = &b});
       b.sum_of_squares(out, real(b, {200000}));
       return std::vector{out};
     }},
    {"matmul",
     [](Backend& b) {
       const Tensor x = real(b, {200, 150}), y = Tensor::empty({150, 150}, x.options());
       b.matmul(y, x, x, {.transpose_a = true});
       const Tensor z = Tensor::empty({200, 150}, x.options());
       b.dense(z, x, y, real(b, {150}), Epilogue::relu);
       return std::vector{y, z};
     }},
    {"conv2d",
     [](Backend& b) {
       const Conv2dParams params{.padding = {1, 1, 1, 1}, .groups = 2};
       const Tensor x = real(b, {21, 6, 5, 4}), weight = real(b, {6, 3, 3, 2}, 2);
       const Tensor out = Tensor::empty({21, 6, 5, 6}, x.options()), grad_x = Tensor::empty_like(x);
       const Tensor grad_weight = Tensor::empty_like(weight), grad_bias = Tensor::empty({6}, x.options());
       b.conv2d(out, x, weight, {}, params, Epilogue::none);
       b.conv2d_backward_input(grad_x, out, weight, params);
       b.conv2d_backward_weight(grad_weight, grad_bias, out, x, params);
       return std::vector{out, grad_x, grad_weight, grad_bias};
     }},
    {"pool2d",
     [](Backend& b) {
       const Pool2dParams params{.window = {3, 3}, .stride = {2, 2}};
       const Tensor x = real(b, {7, 9, 9, 3}), y = Tensor::empty({7, 4, 4, 3}, x.options());
       const Tensor argmax = Tensor::empty(y.shape(), {.dtype = DType::u8, .backend = &b});
       const Tensor grad_x = Tensor::empty_like(x), grad_average = Tensor::empty_like(x);
       b.max_pool2d(y, argmax, x, params);
       b.max_pool2d_backward(grad_x, y, argmax, params);
       b.average_pool2d_backward(grad_average, y, params);
       return std::vector{y, argmax, grad_x, grad_average};
     }},
    {"cross-entropy",
     [](Backend& b) {
       const Tensor x = real(b, {900, 10}), p = Tensor::empty_like(x),
                    losses = Tensor::empty({900}, x.options());
       b.softmax_cross_entropy(losses, p, x, Tensor::full({900}, 3, {.dtype = DType::i32, .backend = &b}),
                               0.1);
       return std::vector{losses, p};
     }},
    {"dropout",
     [](Backend& b) {
       const Tensor x = real(b, {40, 30}), y = Tensor::empty_like(x);
       b.dropout(y, x, Tensor::full({40, 2}, 5, {.dtype = DType::i64, .backend = &b}), {});
       return std::vector{y};
     }},
    {"batch_norm",
     [](Backend& b) {
       const Tensor x = real(b, {700, 70}), y = Tensor::empty_like(x);
       const Tensor mean = Tensor::empty({70}, x.options()), variance = Tensor::empty({70}, x.options());
       b.batch_statistics(mean, variance, x);
       b.batch_norm_backward(y, {}, {}, real(b, {700, 70}, 2), x, mean, variance, {}, {});
       return std::vector{mean, variance, y};
     }},
    {"adam_step",
     [](Backend& b) {
       const Tensor w = real(b, {50000}), m = real(b, {50000}, 2),
                    v = Tensor::full({50000}, 0.5, w.options());
       b.adam_step(w, real(b, {50000}, 3), m, v, {}, {}, {});
       return std::vector{w, m, v};
     }},
};

bool same_bits(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (std::memcmp(a[i].raw(), b[i].raw(), a[i].byte_size()) != 0) return false;
  return true;
}

TEST(CpuThreads, TheSameBitsForAnyNumberOfThreads) {
  CpuBackend one, several;
  for (const int threads : {2, 3, 7}) {
    several.threads().resize(threads);
    for (const auto& [name, kernel] : kKernels)
      EXPECT_TRUE(same_bits(kernel(one), kernel(several))) << name << " with " << threads << " threads";
  }
}

TEST(CpuThreads, KernelsMayRunSideBySide) {
  CpuBackend cpu;
  cpu.threads().resize(3);
  std::vector<std::thread> callers;
  for (const auto& named : kKernels)
    callers.emplace_back([&cpu, named] {
      const auto& [name, kernel] = named;
      CpuBackend alone;
      EXPECT_TRUE(same_bits(kernel(cpu), kernel(alone))) << name;
    });
  for (std::thread& caller : callers) caller.join();
}

}  // namespace
}  // namespace ronde
