#include <map>

#include "backend/cpu/cpu_backend.h"
#include "core/testing.h"

namespace ronde::test {
namespace {

// Gathers the elements that fall on each output element by walking the input once, index by index.
std::map<std::vector<std::int64_t>, Values> group(const Tensor& x, const Shape& out_shape) {
  std::map<std::vector<std::int64_t>, Values> groups;
  const Values values = x.to_vector<double>();
  for (std::int64_t i = 0; i < x.count(); ++i) {
    std::vector<std::int64_t> index(static_cast<std::size_t>(x.rank()));
    std::int64_t rest = i;
    for (int axis = x.rank() - 1; axis >= 0; --axis) {
      index[static_cast<std::size_t>(axis)] = out_shape[axis] == 1 ? 0 : rest % x.size(axis);
      rest /= x.size(axis);
    }
    groups[index].push_back(values[static_cast<std::size_t>(i)]);
  }
  return groups;
}

double reference(ReduceOp op, Values values) {
  std::sort(values.begin(), values.end());
  double sum = 0;
  for (const double v : values) sum += v;
  switch (op) {
    case ReduceOp::sum:
      return sum;
    case ReduceOp::mean:
      return sum / static_cast<double>(values.size());
    case ReduceOp::max:
      return values.back();
    case ReduceOp::min:
      break;
  }
  return values.front();
}

void check(CpuBackend& cpu, const Tensor& x, const Shape& out_shape) {
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::mean, ReduceOp::max, ReduceOp::min}) {
    SCOPED_TRACE(cat("op ", static_cast<int>(op), " of ", x.shape(), " to ", out_shape));
    const Tensor out = unwritten(cpu, out_shape, x.dtype());
    cpu.reduce(op, out, x);
    Values expected;
    for (const auto& [index, values] : group(x, out_shape)) expected.push_back(reference(op, values));
    expect_close(out, expected);
  }
}

TEST(CpuReduce, AnySubsetOfAxes) {
  CpuBackend cpu;
  const Shape shape{3, 4, 1, 5};
  for_each_real([&](DType dtype) {
    const Tensor x = random_tensor(cpu, shape, dtype, 1);
    for (int axes = 0; axes < 16; ++axes) {
      Shape out_shape = shape;
      for (int i = 0; i < 4; ++i)
        if (axes >> i & 1) out_shape[i] = 1;
      check(cpu, x, out_shape);
    }
  });
}

TEST(CpuReduce, StridedViews) {
  CpuBackend cpu;
  const Tensor x = random_tensor(cpu, {4, 6, 5}, DType::f64, 2);
  check(cpu, x.permute({2, 0, 1}), {5, 1, 6});
  check(cpu, x.slice(1, 1, 4), {1, 3, 1});
  check(cpu, x.slice(0, 0, 1).broadcast_to({3, 6, 5}), {1, 6, 1});
}

TEST(CpuReduce, WiderThanABlockOfColumns) {
  CpuBackend cpu;
  const Tensor x = random_tensor(cpu, {3, 150}, DType::f32, 3);
  check(cpu, x, {1, 150});
  check(cpu, x, {3, 1});
}

TEST(CpuReduce, NothingToReduce) {
  CpuBackend cpu;
  const Tensor x = Tensor::zeros({0, 2}, {.dtype = DType::f64, .backend = &cpu});
  const Tensor out = unwritten(cpu, {1, 2}, DType::f64);
  cpu.reduce(ReduceOp::sum, out, x);
  EXPECT_EQ(out.to_vector<double>(), (Values{0, 0}));
  cpu.reduce(ReduceOp::mean, out, x);
  EXPECT_TRUE(std::isnan(out.to_vector<double>()[0]));
  cpu.reduce(ReduceOp::max, out, x);
  EXPECT_EQ(out.to_vector<double>()[0], -std::numeric_limits<double>::infinity());
  const Tensor none = Tensor::zeros({0, 1}, {.dtype = DType::f64, .backend = &cpu});
  cpu.reduce(ReduceOp::sum, none, x);
}

TEST(CpuReduce, FloatsAreSummedInDouble) {
  CpuBackend cpu;
  // In float, adding 1 to 2^24 changes nothing.
  const Tensor x = Tensor::full({1001}, 1, {.backend = &cpu});
  x.slice(0, 0, 1).fill(0x1p24);
  const Tensor out = Tensor::zeros({1}, {.backend = &cpu});
  cpu.reduce(ReduceOp::sum, out, x);
  EXPECT_EQ(out.item(), 0x1p24 + 1000);
}

TEST(CpuReduce, ANanIsNotLost) {
  CpuBackend cpu;
  const Tensor out = Tensor::zeros({1}, {.dtype = DType::f64, .backend = &cpu});
  for (const Values& values : {Values{1, std::nan(""), 2}, Values{std::nan(""), 1, 2}})
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::mean, ReduceOp::max, ReduceOp::min}) {
      cpu.reduce(op, out, tensor(cpu, {3}, values));
      EXPECT_TRUE(std::isnan(out.item())) << static_cast<int>(op);
    }
}

TEST(CpuReduce, ArgmaxTakesTheFirst) {
  CpuBackend cpu;
  const Tensor out = Tensor::zeros({2, 2}, {.dtype = DType::i64, .backend = &cpu});
  for_each_real([&](DType dtype) {
    cpu.argmax(out, tensor(cpu, {2, 2, 3}, {1, 3, 2, 5, 5, 5, -3, -2, -1, 0, 7, 7}, dtype));
    EXPECT_EQ(out.to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, 0, 2, 1}));
  });
  cpu.argmax(Tensor::zeros({0}, {.dtype = DType::i64, .backend = &cpu}),
             Tensor::zeros({0, 3}, {.backend = &cpu}));
}

TEST(CpuReduce, SumOfSquaresOfMoreThanOnePiece) {
  CpuBackend cpu;
  const Tensor out = Tensor::zeros({}, {.dtype = DType::f64, .backend = &cpu});
  for_each_real([&](DType dtype) {
    const Tensor x = random_tensor(cpu, {70000}, dtype, 6);
    long double expected = 0;
    for (const double v : x.to_vector<double>()) expected += static_cast<long double>(v) * v;
    cpu.sum_of_squares(out, x);
    EXPECT_NEAR(out.item(), static_cast<double>(expected), 1e-12 * static_cast<double>(expected));
  });
  cpu.sum_of_squares(out, Tensor::zeros({0}, {.backend = &cpu}));
  EXPECT_EQ(out.item(), 0);
}

TEST(CpuReduce, CountCorrectAddsToTheTotal) {
  CpuBackend cpu;
  const Tensor total = Tensor::full({}, 10, {.dtype = DType::i64, .backend = &cpu});
  const Tensor scores = tensor(cpu, {3, 2}, {0.1, 0.9, 0.8, 0.2, 0.5, 0.5}, DType::f32);
  cpu.count_correct(total, scores, Tensor::from<std::int32_t>({3}, {1, 1, 0}, &cpu));
  EXPECT_EQ(total.item(), 12);
  cpu.count_correct(total, Tensor::zeros({0, 2}, {.backend = &cpu}),
                    Tensor::zeros({0}, {.dtype = DType::i32, .backend = &cpu}));
  EXPECT_EQ(total.item(), 12);
}

}  // namespace
}  // namespace ronde::test
