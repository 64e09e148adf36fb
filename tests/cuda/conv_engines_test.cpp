// What cuDNN recommends for an H200, asked without one: in each precision there is something for every
// convolution of the nets that gives the same bits each time. Some of it cuDNN compiles when a plan is made,
// which needs nvrtc and a driver, here that of driver/.
#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "cuda/conv_patterns.h"
#include "cuda/gpu/conv_engines.h"
#include "cuda/gpu/conv_graph.h"

namespace ronde::test {
namespace {

using cuda::CudnnDescriptor;
using cuda::Engines;
using cuda::MathMode;

constexpr std::string_view kH200 =
    R"({"deviceName": "NVIDIA H200", "cudaDeviceId": 0, "deviceVer": 900, "driverVer": 13000,
    "maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64], "regsPerBlock": 65536,
    "multiProcessorCount": 132, "warpSize": 32, "maxSharedMemoryPerBlock": 49152,
    "maxSharedMemoryPerBlockOptin": 232448, "reservedSharedMemoryPerBlock": 1024, "maxRegistersPerSM": 65536,
    "maxCtasPerSM": 32, "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048, "pciDeviceId": 0,
    "isTccDriver": 0, "supportCoopLaunch": 1, "smClockRateKHz": 1980000, "memClockRateKHz": 3201000, "l2CacheSize": 62914560,
    "totalGlobalMem": 150000000000})";

CudnnDescriptor h200() {
  CudnnDescriptor device(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  const std::string json(kH200);
  device
      .set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
           static_cast<std::int64_t>(json.size()) + 1, json.c_str())
      .finalize();
  return device;
}

const CudnnDescriptor& device_of_plans() {
  static const CudnnDescriptor device = h200();
  return device;
}

std::vector<CudnnDescriptor> configurations_of(const cuda::Call& call, const cuda::EngineRules& rules) {
  const cuda::ConvGraph graph = cuda::make_conv_graph(call);
  return cuda::allowed_engines(cuda::make_operation_graph(graph, nullptr), rules, &device_of_plans());
}

/// Numbers of the engines in the order of the recommendation.
std::vector<std::int64_t> engines_of(const cuda::Call& call, const cuda::EngineRules& rules) {
  std::vector<std::int64_t> numbers;
  for (const CudnnDescriptor& configuration : configurations_of(call, rules))
    numbers.push_back(cuda::number_of_engine(configuration));
  return numbers;
}

constexpr cuda::EngineRules kMixed{.is_bfloat16 = true};

// Engine 0 computes anything, slowly. Those for plain floats stand behind more than 20 for tensor cores.
TEST(ConvEngines, FloatsHaveMoreThanTheGenericOne) {
  for (const Layer& layer : kLayers) {
    const Patterns p = patterns_of(layer, 128);
    for (const cuda::Call& call : {p.forward, p.plain, p.by_input, p.by_weight}) {
      const std::vector<std::int64_t> engines =
          engines_of(call, {.math = {.engines = Engines::deterministic}});
      EXPECT_TRUE(std::any_of(engines.begin(), engines.end(), [](auto number) { return number != 0; }))
          << layer.name << ", operation " << static_cast<int>(call.op);
    }
  }
}

TEST(ConvEngines, OnlyTheFastestMayVary) {
  const cuda::Call call = patterns_of(kLayers[1], 128).by_weight;
  const auto count = [&](Engines engines) { return engines_of(call, {.math = {.engines = engines}}).size(); };
  EXPECT_EQ(count(Engines::deterministic), count(Engines::tuned));
  EXPECT_LT(count(Engines::tuned), count(Engines::fastest));
}

TEST(ConvEngines, TensorCoresAreForTf32AndBfloat16) {
  const auto count = [](DType dtype, MathMode mode) {
    return engines_of(patterns_of(kLayers[3], 128, dtype).plain, {{.mode = mode}, dtype == DType::bf16})
        .size();
  };
  EXPECT_LT(2 * count(DType::f32, MathMode::f32), count(DType::f32, MathMode::tf32));
  EXPECT_GT(count(DType::bf16, MathMode::f32), 8u);
}

// Without a trial the first is taken, which is to be another.
TEST(ConvEngines, TheGenericOneIsTheLast) {
  for (const Layer& layer : kLayers) {
    const Patterns p = patterns_of(layer, 128);
    for (const cuda::Call& call : {p.forward, p.plain, p.by_input, p.by_weight})
      EXPECT_EQ(engines_of(call, {.math = {.engines = Engines::deterministic}}).back(), 0)
          << layer.name << ", operation " << static_cast<int>(call.op);
  }
}

// Fallbacks are recommended again: of engine 0, which has no choices, there is one configuration.
TEST(ConvEngines, NoneIsTriedTwice) {
  for (const Layer& layer : kLayers) {
    const Patterns p = patterns_of(layer, 128);
    for (const cuda::Call& call : {p.forward, p.plain, p.by_input, p.by_weight}) {
      const std::vector<std::int64_t> engines = engines_of(call, {});
      EXPECT_EQ(std::count(engines.begin(), engines.end(), 0), 1)
          << layer.name << ", operation " << static_cast<int>(call.op);
    }
  }
}

// Also where nothing is compiled, and also of 1 or 3 channels: of float copies of bf16, without TF32.
TEST(ConvEngines, OfFloatCopiesThereAreTensorCoresForGradientsOfWeights) {
  for (const Layer& layer : kLayers) {
    const cuda::Call call = patterns_of(layer, 128).by_weight;
    const std::vector<CudnnDescriptor> of_copies = configurations_of(call, kMixed);
    EXPECT_GE(of_copies.size(), configurations_of(call, {}).size() + 10) << layer.name;
    EXPECT_TRUE(std::none_of(of_copies.begin(), of_copies.end(), cuda::is_compiled_at_run_time));
  }
}

// Also where nothing can be compiled. With a bias in f32 there would be none.
TEST(ConvEngines, ForwardInMixedPrecisionThereAreSomeThatNobodyCompiles) {
  for (const Layer& layer : kLayers) {
    const Patterns p = patterns_of(layer, 128, DType::bf16);
    for (const cuda::Call& call : {p.forward, p.plain, p.by_input}) {
      const std::vector<CudnnDescriptor> all = configurations_of(call, kMixed);
      EXPECT_GE(std::count_if(all.begin(), all.end(),
                              [](const auto& c) { return !cuda::is_compiled_at_run_time(c); }),
                16)
          << layer.name << ", operation " << static_cast<int>(call.op);
    }
  }
}

/// Those that cuDNN compiles when a plan is made of them.
std::vector<CudnnDescriptor> compiled_engines(const cuda::Call& call) {
  std::vector<CudnnDescriptor> compiled;
  for (CudnnDescriptor& configuration : configurations_of(call, kMixed))
    if (cuda::is_compiled_at_run_time(configuration)) compiled.push_back(std::move(configuration));
  return compiled;
}

std::string compile(const CudnnDescriptor& configuration) try {
  CudnnDescriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR)
      .set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration)
      .set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, device_of_plans())
      .finalize();
  return "";
} catch (const cuda::GpuError& error) {
  return error.what();
}

class CompiledEngines : public testing::Test {
 protected:
  void SetUp() override {
    if (compiled_engines(patterns_of(kLayers[1], 128, DType::bf16).by_weight).empty())
      GTEST_SKIP() << "cuDNN compiles nothing here: no test driver (as with sanitizers), no libnvrtc or no "
                      "libcudnn_engines_runtime_compiled";
  }
};

// A gradient in f32 of bf16 has no others. One or three channels have none at all.
TEST_F(CompiledEngines, AreThoseOfAWeightInMixedPrecision) {
  for (const Layer& layer : kLayers)
    EXPECT_EQ(compiled_engines(patterns_of(layer, 128, DType::bf16).by_weight).empty(), layer.channels < 16)
        << layer.name;
}

// cuDNN compiles the same kernel for its only engine with the choices recommended and with none.
TEST_F(CompiledEngines, AreCompiledOnce) {
  EXPECT_EQ(compiled_engines(patterns_of(kLayers[1], 128, DType::bf16).by_weight).size(), 1u);
}

std::string reason_of(const cuda::Call& call) {
  const cuda::ConvGraph graph = cuda::make_conv_graph(call);
  return cuda::why_no_engine(cuda::make_operation_graph(graph, nullptr), &device_of_plans());
}

// Without a driver there is none for more channels either, and cuDNN calls that a success.
TEST_F(CompiledEngines, AreMissedWhereTheyCannotBeCompiled) {
  const cuda::Call few = patterns_of(kLayers[0], 128, DType::bf16).by_weight,
                   more = patterns_of(kLayers[1], 128, DType::bf16).by_weight;
  EXPECT_EQ(reason_of(few), "it recommends none");
  testing::internal::CaptureStderr();  // where cuDNN complains
  setenv("RONDE_TEST_DRIVER_WITHOUT", "cuLibraryLoadData", true);
  EXPECT_TRUE(configurations_of(more, kMixed).empty());
  const std::string reason = reason_of(more);
  unsetenv("RONDE_TEST_DRIVER_WITHOUT");
  testing::internal::GetCapturedStderr();
  EXPECT_NE(reason.find("cannot compile one without libnvrtc, libcuda"), std::string::npos) << reason;
  EXPECT_EQ(compiled_engines(more).size(), 1u);
}

// One plan of each kind: 3x3, with a stride, 1x1. Each takes a second.
TEST_F(CompiledEngines, BecomePlans) {
  for (const std::size_t i : {1u, 8u, 10u}) {
    const Patterns p = patterns_of(kLayers[i], 128, DType::bf16);
    EXPECT_EQ(compile(compiled_engines(p.by_weight).at(0)), "") << kLayers[i].name;
  }
  const Patterns p = patterns_of(kLayers[1], 128, DType::bf16);
  for (const cuda::Call& call : {p.forward, p.plain}) EXPECT_EQ(compile(compiled_engines(call).at(0)), "");
}

}  // namespace
}  // namespace ronde::test
