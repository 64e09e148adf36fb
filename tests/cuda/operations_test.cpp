// Operations that are made of several kernels, recorded and walked backwards on the fake device.
#include <ronde/core/ops.h>

#include "cuda/digits.h"

namespace ronde::test {
namespace {

/// As a program does that evaluates with a NoGrad and trains on in the same block.
TEST(CudaOperations, ATrainingWithinANoGradIsRecordedAndRepeated) {
  const auto trained = [](bool within) {
    FakeDevice device;
    Model model = digits_model(device.backend, {});
    std::optional<NoGrad> no_grad;
    if (within) no_grad.emplace();
    model.fit(digits(), {.batch_size = 4, .max_steps = 6, .verbose = 0});
    EXPECT_EQ(device.runtime.replays(), 4);
    return model.weights_sha256();
  };
  EXPECT_EQ(trained(true), trained(false));
}

}  // namespace
}  // namespace ronde::test
