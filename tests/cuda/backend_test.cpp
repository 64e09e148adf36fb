// CudaBackend's own logic; what its kernels compute is the table of tests/backend_ops.
#include <ronde/core/cuda.h>
#include <ronde/nn/embedding.h>

#include "cuda/backend_options.h"
#include "cuda/fake_device.h"
#include "cuda/plan_key.h"
#include "data/environment.h"

namespace ronde::test {
namespace {

Tensor product(const Tensor& a, const Tensor& b) {
  const Tensor out = Tensor::empty({a.size(0), b.size(1)}, a.options());
  a.backend().matmul(out, a, b, {});
  return out;
}

TEST(CudaBackend, LargeCopiesGoThroughManySlots) {
  FakeDevice device;
  std::vector<float> values(3 * cuda::Staging::kSlotBytes * cuda::Staging::kSlots / sizeof(float) / 2 + 7);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 8191);
  const auto count = static_cast<std::int64_t>(values.size());
  const Tensor there = Tensor::from<float>({count}, values, &device.backend);
  EXPECT_EQ(there.to_vector<float>(), values);
}

TEST(CudaBackend, SumsManySquaresByPieces) {
  FakeDevice device;
  const std::int64_t count = 100'003;
  std::vector<float> values(static_cast<std::size_t>(count));
  double expected = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(i % 977) - 500.0f;
    expected += double{values[i]} * double{values[i]};
  }
  const Tensor x = Tensor::from<float>({count}, values, &device.backend);
  const Tensor sum = Tensor::empty({}, {.dtype = DType::f64, .backend = &device.backend});
  const std::int64_t before = device.runtime.launches();
  device.backend.sum_of_squares(sum, x);
  EXPECT_EQ(device.runtime.launches() - before, 2);
  EXPECT_EQ(sum.item(), expected);  // whole numbers
}

// The source may change as soon as the call is back, long before the device has read it.
TEST(CudaBackend, AnUploadKeepsWhatItWasGiven) {
  FakeDevice device;
  std::vector<Tensor> uploaded;
  std::vector<float> source(100);
  for (int i = 0; i < 10; ++i) {
    std::fill(source.begin(), source.end(), static_cast<float>(i));
    uploaded.push_back(Tensor::from<float>({100}, source, &device.backend));
  }
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(uploaded[static_cast<std::size_t>(i)].to_vector<float>(), repeated(100, static_cast<float>(i)));
}

TEST(CudaBackend, KernelsReturnBeforeTheyRun) {
  FakeDevice device({.hanging_launch = 1});
  const Tensor a = filled(device.backend, {3, 3}, 1.0);
  product(a, a);
  device.backend.accumulate(a, a, 1.0);
  device.runtime.lose("the test is over");
}

TEST(CudaBackend, PlansAreMadeOnceForEachShape) {
  FakeDevice device;
  for (int repeat = 0; repeat < 3; ++repeat)
    for (const std::int64_t n : {2, 5}) {
      const Tensor a = filled(device.backend, {n, 4}, 1.0), b = filled(device.backend, {4, 3}, 2.0);
      EXPECT_EQ(product(a, b).to_vector<float>(), repeated(n * 3, 8));
    }
  EXPECT_EQ(device.runtime.prepared(), 2);
  EXPECT_EQ(device.backend.plans(), 2u);
}

TEST(CudaBackend, KeysTellPatternsApart) {
  cuda::Call call{.op = cuda::Op::matmul, .outputs = 1, .operands = 2};
  call.tensors[1] = {.data = &call, .defined = true, .rank = 2, .shape = {4, 4}, .strides = {4, 1}};
  const std::string key = cuda::plan_key(call, {});
  cuda::Call elsewhere = call;
  elsewhere.tensors[1].data = reinterpret_cast<char*>(&call) + 16;
  elsewhere.attributes.value = 3.0;  // which no product reads
  EXPECT_EQ(cuda::plan_key(elsewhere, {}), key);

  std::vector<cuda::Call> others(5, call);
  others[0].op = cuda::Op::dense;
  others[1].tensors[1].strides = {1, 4};
  others[2].tensors[1].dtype = DType::f64;
  others[3].attributes.matmul.transpose_a = true;
  others[4].tensors[1].data = reinterpret_cast<char*>(&call) + 4;
  for (const cuda::Call& other : others) EXPECT_NE(cuda::plan_key(other, {}), key);
  EXPECT_NE(cuda::plan_key(call, {.mode = cuda::MathMode::tf32}), key);
  EXPECT_NE(cuda::plan_key(call, {.engines = cuda::Engines::deterministic}), key);
}

TEST(CudaBackend, AWrongLabelIsToldOnceAndTheDeviceGoesOn) {
  FakeDevice device;
  const Tensor logits = filled(device.backend, {2, 3}, 0.0), p = Tensor::empty_like(logits);
  const Tensor losses = Tensor::empty({2}, logits.options());
  const Tensor labels = Tensor::from<std::int32_t>({2}, {1, 3}, &device.backend);
  device.backend.softmax_cross_entropy(losses, p, logits, labels, 0.0);
  expect_error([&] { device.backend.synchronize(); }, "label 3 of row 1");
  device.backend.synchronize();
  EXPECT_EQ(filled(device.backend, {2}, 5.0).to_vector<float>(), repeated(2, 5));
}

// As i32 they would be rows of the table.
TEST(CudaBackend, FarIndicesOfAnEmbeddingAreNoRows) {
  FakeDevice device;
  Embedding layer({.input_dim = 10, .output_dim = 2});
  layer.build({1}, {.backend = &device.backend});
  const auto look_up = [&](std::int64_t index) {
    layer(Tensor::from<std::int64_t>({1, 1}, {index}, &device.backend));
    device.backend.synchronize();
  };
  constexpr std::int64_t kFar = std::int64_t{1} << 32;
  EXPECT_NO_THROW(look_up(9));
  for (const std::int64_t index : {kFar + 3, 3 - kFar, std::int64_t{-1}, std::int64_t{10}})
    expect_error([&] { look_up(index); }, "at position 0 is outside a table of 10 rows");
}

TEST(CudaBackend, AStepSoonNeedsNoMemoryOfTheDevice) {
  FakeDevice device;
  const auto step = [&] {
    const Tensor a = filled(device.backend, {30, 40}, 1.0), b = filled(device.backend, {40, 5}, 1.0);
    return product(a, b).to_vector<float>();
  };
  step();
  const std::size_t before = device.backend.allocator().statistics().requests;
  for (int i = 0; i < 5; ++i) EXPECT_EQ(step(), repeated(150, 40));
  EXPECT_EQ(device.backend.allocator().statistics().requests, before);
}

TEST(CudaBackend, ALateReaderTellsWhatAScalarWas) {
  FakeDevice device({.seed = 5});
  const Tensor scalar = Tensor::zeros({}, {.dtype = DType::f64, .backend = &device.backend});
  LateReader reader(device.backend);
  for (int i = 0; i < 3; ++i) {
    scalar.fill(10.0 * i);
    reader.ask(scalar);
    scalar.fill(10.0 * i + 1);
    reader.ask(scalar);
    scalar.fill(-1.0);
    expect_error([&] { reader.ask(scalar); }, "was asked 2 times and nothing was taken");
    EXPECT_EQ(reader.take(), 10.0 * i);
    EXPECT_EQ(reader.asked(), 1u);
    EXPECT_EQ(reader.take(), 10.0 * i + 1);
  }
  expect_error([&] { reader.take(); }, "was asked for nothing");
  expect_error([&] { reader.ask(filled(device.backend, {}, 1.0)); }, "reads a scalar of f64");
  expect_error([&] { LateReader of_the_cpu(backend("cpu")); }, "reads from a GPU, not from ");
  reader.ask(scalar);  // and never taken
}

TEST(CudaBackend, GivesTheDeviceBackAsItWas) {
  FakeRuntime runtime;
  {
    cuda::CudaBackend backend(runtime);
    const Tensor a = filled(backend, {8, 8}, 1.0);
    product(a, a).to_vector<float>();
  }
  EXPECT_EQ(runtime.memory_in_use(), 0u);
}

TEST(CudaBackendOptions, AreThoseOfTheEnvironment) {
  const auto options = [] { return cuda::options_of_environment(3); };
  EXPECT_EQ(options().index, 3);
  EXPECT_EQ(options().math.engines, cuda::Engines::tuned);
  EXPECT_EQ(options().math.mode, cuda::MathMode::f32);
  EXPECT_TRUE(options().graphs);
  EXPECT_TRUE(options().windows);
  const test::SetEnv engines("RONDE_CUDA_ENGINES", "deterministic"), math("RONDE_CUDA_MATH", "tf32"),
      graphs("RONDE_CUDA_GRAPHS", "off"), windows("RONDE_NCCL_WINDOWS", "off");
  EXPECT_EQ(options().math.engines, cuda::Engines::deterministic);
  EXPECT_EQ(options().math.mode, cuda::MathMode::tf32);
  EXPECT_FALSE(options().graphs);
  EXPECT_FALSE(options().windows);
  const test::SetEnv wrong("RONDE_CUDA_ENGINES", "quick");
  expect_error(options, "$RONDE_CUDA_ENGINES expects tuned, fastest or deterministic, got \"quick\"");
}

}  // namespace
}  // namespace ronde::test
