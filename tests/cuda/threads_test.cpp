// Several threads on one device: what one repeats or captures is not what the others do.
#include <atomic>
#include <functional>
#include <thread>
#include <utility>

#include "cuda/captured_step.h"
#include "cuda/digits.h"

namespace ronde::test {
namespace {

using cuda::CapturedStep;

class CudaThreads : public ::testing::Test {
 protected:
  static void in_a_thread(const std::function<void()>& work) { std::thread(work).join(); }

  FakeDevice device{{.seed = 3}};
  const Tensor total = filled(device.backend, {4}, 0.0), one = filled(device.backend, {4}, 1.0);
  void add() { device.backend.accumulate(total, one, 1.0); }
  std::vector<float> added(float times) { return repeated(4, times); }
};

// While a graph repeats what the host's part of a step would do, and while a step is rehearsed.
TEST_F(CudaThreads, AnotherOneComputesWhileCallsAreLeftOut) {
  CapturedStep step(device.backend);
  const Tensor mine = filled(device.backend, {4}, 0.0);
  int others = 0;
  for (int i = 0; i < 5; ++i)
    step.run([&] { add(); },
             [&] {
               if (device.backend.is_capturing()) return;
               in_a_thread([&] { device.backend.accumulate(mine, one, 1.0); });
               ++others;
             });
  EXPECT_TRUE(step.is_captured());
  EXPECT_EQ(others, 4);
  EXPECT_EQ(mine.to_vector<float>(), added(4.0f));
  EXPECT_EQ(total.to_vector<float>(), added(5.0f));
}

TEST_F(CudaThreads, AnotherOneHasMemoryOfItsOwn) {
  CapturedStep step(device.backend);
  Tensor mine;
  for (int i = 0; i < 5; ++i)
    step.run(
        [&] {
          const Tensor scratch = filled(device.backend, {4}, 2.0);
          device.backend.accumulate(total, scratch, 1.0);
        },
        [&] {
          if (device.backend.leaves_out()) in_a_thread([&] { mine = filled(device.backend, {4}, 7.0); });
        });
  EXPECT_EQ(mine.to_vector<float>(), repeated(4, 7.0f));
  EXPECT_EQ(total.to_vector<float>(), added(10.0f));
}

TEST_F(CudaThreads, AGateIsOfItsThread) {
  const Tensor closed = Tensor::full({}, NAN, {.dtype = DType::f64, .backend = &device.backend});
  const GatedUpdates gated(closed);
  add();
  in_a_thread([&] { add(); });
  EXPECT_EQ(total.to_vector<float>(), added(1.0f));
}

TEST_F(CudaThreads, NoneComputesWhileAnotherOneCaptures) {
  CapturedStep step(device.backend);
  const Tensor mine = filled(device.backend, {4}, 0.0);
  std::atomic<bool> begins = false, has_computed = false;
  std::thread other;
  for (int i = 0; i < 5; ++i)
    step.run([&] {
      if (device.backend.is_capturing()) {
        other = std::thread([&] {
          begins = true;
          device.backend.accumulate(mine, one, 1.0);
          has_computed = true;
        });
        while (!begins) std::this_thread::yield();
        for (int yields = 0; yields < 100; ++yields) std::this_thread::yield();
        EXPECT_FALSE(has_computed);
      }
      add();
    });
  other.join();
  EXPECT_TRUE(step.is_captured());
  EXPECT_EQ(mine.to_vector<float>(), added(1.0f));  // no part of the graph
}

// Where there is none left for the numbers of an optimizer's step, the device would be asked to wait for what
// another thread captures.
TEST_F(CudaThreads, NoneGetsMemoryWhileAnotherOneCaptures) {
  CapturedStep step(device.backend);
  const Tensor mine = filled(device.backend, {4}, 0.0);
  std::atomic<bool> begins = false;
  std::thread other;
  for (int i = 0; i < 3; ++i)
    step.run([&] {
      if (device.backend.is_capturing()) {
        const std::size_t lent = device.backend.allocator().statistics().lent;
        other = std::thread([&] {
          CapturedStep own(device.backend);
          begins = true;
          own.run([&] { device.backend.sgd_step(mine, one, {}, {.learning_rate = 1.0}, {}); });
        });
        while (!begins) std::this_thread::yield();
        for (int yields = 0; yields < 100; ++yields) std::this_thread::yield();
        EXPECT_EQ(device.backend.allocator().statistics().lent, lent);
      }
      add();
    });
  other.join();
  EXPECT_EQ(mine.to_vector<float>(), added(-1.0f));
}

// The side stream waits for what the main stream has been given: what another thread gives that one a moment
// later is not among it.
TEST(CudaThreadsOnTwoStreams, ShareNoScratchMemory) {
  std::function<void()> meanwhile;
  FakeDevice device{{.on_wait = [&] {
    if (meanwhile) std::thread(std::exchange(meanwhile, {})).join();
  }}};
  const Tensor x = filled(device.backend, {4, 4}, 1.0), product = filled(device.backend, {4, 4}, 0.0),
               gradient = filled(device.backend, {4, 4}, 0.0);
  meanwhile = [&] { device.backend.matmul(product, x, x, {}); };
  CapturedStep step(device.backend);
  step.run([&] { device.backend.dense_backward_weight(gradient, {}, x, x); });
  EXPECT_FALSE(meanwhile);
  EXPECT_EQ(product.to_vector<float>(), repeated(16, 4.0f));
  EXPECT_EQ(gradient.to_vector<float>(), repeated(16, 4.0f));
}

TEST_F(CudaThreads, ACaptureWithinACaptureIsNone) {
  CapturedStep outer(device.backend), inner(device.backend);
  for (int i = 0; i < 5; ++i) outer.run([&] { inner.run([&] { add(); }); });
  EXPECT_EQ(inner.fallback(), "a capture is already under way");
  EXPECT_TRUE(outer.is_captured());
  EXPECT_EQ(total.to_vector<float>(), added(5.0f));
}

Values trained(Backend& backend, std::uint64_t seed) {
  Model model(digits_net(), {8, 8, 1}, {.seed = seed, .backend = &backend});
  model.compile({.optimizer = digits_optimizer(), .loss = std::make_unique<CategoricalCrossentropy>()});
  model.fit(digits(),
            {.batch_size = 4, .epochs = 3, .non_finite = {.action = NonFiniteAction::abort}, .verbose = 0});
  return model.arena().values().to_vector<double>();
}

TEST_F(CudaThreads, TwoTrainingsAndAPrediction) {
  const Tensor inputs = Tensor::full({3, 8, 8, 1}, 0.5);
  Model predicts = digits_model(device.backend, {});
  const Values expected = digits_model(backend("cpu"), {}).predict(inputs).to_vector<double>();
  std::atomic<bool> is_over = false;
  std::thread prediction([&] {
    while (!is_over) expect_near(predicts.predict(inputs).to_vector<double>(), expected, 1e-5);
  });
  Values other;
  std::thread training([&] { other = trained(device.backend, 2); });
  const Values own = trained(device.backend, 1);
  training.join();
  is_over = true;
  prediction.join();
  expect_near(own, trained(backend("cpu"), 1), 1e-5);
  expect_near(other, trained(backend("cpu"), 2), 1e-5);
}

}  // namespace
}  // namespace ronde::test
