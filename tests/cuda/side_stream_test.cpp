// When a step waits for what runs beside it, and what it keeps until then.
#include "cuda/side_stream.h"
#include "cuda/fake_device.h"
#include "cuda/operand_of.h"

namespace ronde::test {
namespace {

class SideStreamTest : public ::testing::Test {
 protected:
  explicit SideStreamTest(std::size_t most_held = cuda::SideStream::kMostHeld)
      : side(device.runtime, device.backend.allocator(), device.backend.stream(), most_held) {}

  // total += x where the gate is finite, beside others; nobody else has x then.
  void add_beside() { add_beside(side); }
  void add_beside(cuda::SideStream& stream) {
    const Tensor x = filled(device.backend, {1000}, 2.0);
    const std::array<const Tensor*, 2> tensors{&total, &x};
    stream.launch({.op = cuda::Op::accumulate,
                   .outputs = 1,
                   .operands = 2,
                   .tensors = {cuda::operand_of(total), cuda::operand_of(x)},
                   .attributes = {.value = 1.0},
                   .gate = gate.data<double>()},
                  nullptr, 64, tensors);
  }
  bool is_waited_for() const { return lent() == lent_before; }
  std::size_t lent() const { return device.backend.allocator().statistics().lent; }

  static cuda::Call copy(const Tensor& to, const Tensor& from) {
    return {.op = cuda::Op::copy,
            .outputs = 1,
            .operands = 2,
            .tensors = {cuda::operand_of(to), cuda::operand_of(from)}};
  }

  mutable FakeDevice device{{.seed = 11}};
  cuda::SideStream side;
  const Tensor gate = Tensor::zeros({}, {.dtype = DType::f64, .backend = &device.backend});
  const Tensor total = filled(device.backend, {1000}, 1.0), other = filled(device.backend, {1000}, 0.0);
  const std::size_t lent_before = lent();
};

TEST_F(SideStreamTest, IsWaitedForByWhoReadsOrWritesItsResults) {
  for (const auto& [to, from] : {std::pair(other, total), std::pair(total, other)}) {
    add_beside();
    side.let_pass(copy(other, other));
    EXPECT_FALSE(is_waited_for());
    side.let_pass(copy(to.slice(0, 999, 1000), from.slice(0, 999, 1000)));
    EXPECT_TRUE(is_waited_for());
  }
  EXPECT_EQ(total.to_vector<float>(), repeated(1000, 5.0f));
}

TEST_F(SideStreamTest, IsWaitedForByWhoWritesWhatItReads) {
  add_beside();
  side.let_pass(copy(other, gate));
  EXPECT_FALSE(is_waited_for());
  side.let_pass(copy(gate, other));
  EXPECT_TRUE(is_waited_for());
}

TEST_F(SideStreamTest, IsWaitedForByAnOptimizerThatRoundsItsWeights) {
  add_beside();
  cuda::Call step = copy(other, other);
  step.rounded = cuda::operand_of(total);
  side.let_pass(step);
  EXPECT_TRUE(is_waited_for());
}

// Of a body that was broken off.
TEST_F(SideStreamTest, IsWaitedForBeforeAnotherStepHasIt) {
  cuda::SideStreams all(device.runtime, device.backend.allocator(), device.backend.stream());
  std::unique_ptr<cuda::SideStream> own = all.take();
  const cuda::SideStream* const first = own.get();
  add_beside(*own);
  EXPECT_FALSE(is_waited_for());
  all.give_back(std::move(own));
  EXPECT_TRUE(is_waited_for());
  EXPECT_EQ(total.to_vector<float>(), repeated(1000, 3.0f));
  own = all.take();
  EXPECT_EQ(own.get(), first);
  EXPECT_NE(all.take().get(), first);
}

struct LittleIsHeld : SideStreamTest {
  LittleIsHeld() : SideStreamTest(3 * 2 * 4000) {}  // two tensors a call, and its workspace
};

TEST_F(LittleIsHeld, IsWaitedForWhereMuchIsHeld) {
  add_beside();
  add_beside();
  EXPECT_FALSE(is_waited_for());
  add_beside();
  EXPECT_TRUE(is_waited_for());
  EXPECT_EQ(total.to_vector<float>(), repeated(1000, 7.0f));
}

}  // namespace
}  // namespace ronde::test
