// ronde_bench --layers: the timed backend computes what the one behind it does, and counts the arithmetic
// that GF/s are made of.
#include <gtest/gtest.h>

#include <numeric>

#include <ronde/core/ops.h>
#include <ronde/nn/conv2d.h>
#include <ronde/nn/dense.h>
#include <ronde/nn/flatten.h>
#include <ronde/nn/sequential.h>

#include "backend/cpu/cpu_backend.h"
#include "benchmarks/kernel_table.h"
#include "benchmarks/timed_backend.h"
#include "benchmarks/training_step.h"
#include "support/temp_dir.h"

namespace bench {
namespace {

using namespace ronde;

constexpr std::int64_t kBatch = 2;

class NetTest : public ::testing::TestWithParam<const char*> {
 protected:
  double mflop_per_image() const {
    double flop = 0;
    for (const KernelRow& row : times_.rows()) flop += row.flop;
    return flop / kBatch * 1e-6;
  }

  KernelTimes times_;
  std::unique_ptr<Backend> timed_ = make_timed_backend(default_backend(), times_);
  TrainingStep step_{GetParam(), kBatch, nullptr, {}, *timed_};
};

TEST_P(NetTest, StepsAreThoseOfTheBackendBehindIt) {
  TrainingStep plain(GetParam(), kBatch);
  for (int i = 0; i < 2; ++i) {
    step_.run();
    plain.run();
  }
  EXPECT_EQ(step_.last_loss(), plain.last_loss());
}

TEST_P(NetTest, ArithmeticIsThatOfItsKernels) {
  times_.clear();
  step_.run();
  EXPECT_NEAR(mflop_per_image(), step_.net().mflop_per_image, 1e-3);
  times_.clear();
  step_.evaluate();
  EXPECT_NEAR(mflop_per_image(), step_.net().forward_mflop_per_image, 1e-3);
}

INSTANTIATE_TEST_SUITE_P(Benchmark, NetTest,
                         ::testing::Values("mnist", "cifar10", "resnet20", "resnet18", "lstm", "gru"),
                         [](const auto& net) { return std::string(net.param); });

// A 3x3 convolution of 16 pixels and 4 filters, and 64 x 3 weights: the gradient of the first one's input is
// not made.
TEST(NetFromAFile, ItsArithmeticIsCounted) {
  const ronde::test::TempDir folder;
  const std::string path = folder / "net.keras";
  Model(std::make_unique<Sequential>(Conv2D({.filters = 4}), Flatten(),
                                     Dense({.units = 3, .activation = Activation::softmax})),
        {6, 6, 1})
      .save(path);
  EXPECT_NEAR(count_mflop_per_image({.net = path, .evaluate = true}), (1152 + 384) * 1e-6, 1e-12);
  EXPECT_NEAR(count_mflop_per_image({.net = path}), (2 * 1152 + 3 * 384) * 1e-6, 1e-12);
}

TEST(KernelTimes, CallsForTheSameShapesAreOneRow) {
  KernelTimes times;
  const auto backend = make_timed_backend(default_backend(), times);
  const Tensor x = Tensor::zeros({2, 3}, {.backend = backend.get()}), y = Tensor::empty_like(x);
  times.clear();
  for (int step = 0; step < 3; ++step) {
    backend->unary(UnaryOp::relu, y, x, {});
    backend->unary(UnaryOp::relu, x, y, {});
    backend->unary(UnaryOp::relu, x.slice(0, 0, 1), y.slice(0, 0, 1), {});
    times.end_step();
  }
  ASSERT_EQ(times.rows().size(), 2u);
  const KernelRow& row = times.rows()[0];
  EXPECT_EQ(row.name, "relu (2, 3) <- (2, 3)");
  EXPECT_EQ(row.calls, 2);
  EXPECT_EQ(row.bytes, 2 * 2 * 6 * sizeof(float));
  EXPECT_EQ(row.seconds.size(), 3u);
  EXPECT_EQ(times.rows()[1].name, "relu (1, 3) <- (1, 3)");
}

class FillingBackend : public CpuBackend {
 public:
  void accumulate(const Tensor& x, const Tensor& y, double alpha) override {
    x.fill(0);
    CpuBackend::accumulate(x, y, alpha);
  }
};

TEST(KernelTimes, KernelsThatAKernelCallsAreItsOwn) {
  FillingBackend inner;
  KernelTimes times;
  const auto backend = make_timed_backend(inner, times);
  const Tensor x = Tensor::zeros({4}, {.backend = backend.get()});
  times.clear();
  backend->accumulate(x, x, 1.0);
  ASSERT_EQ(times.rows().size(), 1u);
  EXPECT_EQ(times.rows()[0].name, "accumulate (4,) <- (4,) (4,)");
}

}  // namespace
}  // namespace bench
