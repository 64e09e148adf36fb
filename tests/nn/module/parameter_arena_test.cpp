#include <cstdint>

#include <ronde/core/ops.h>
#include <ronde/nn/batch_normalization.h>
#include <ronde/nn/dense.h>
#include <ronde/nn/flatten.h>
#include <ronde/nn/parameter_arena.h>
#include <ronde/nn/sequential.h>
#include <ronde/nn/sgd.h>

#include "nn/testing.h"
#include "support/process_memory.h"

namespace ronde::test {
namespace {

Sequential small_net() {
  Sequential net(Dense({.units = 3}), BatchNormalization(), Dense({.units = 5}), Dense({.units = 2}));
  net.build({4}, in_f64());
  randomize(net);
  return net;
}

TEST(ParameterArena, LaysTrainableWeightsInReverseOrderOfExecution) {
  Sequential net = small_net();
  net.layers()[2]->set_trainable(false);
  const ParameterArena arena(net);
  std::vector<std::string> names;
  std::vector<bool> frozen;
  for (const Segment& segment : arena.segments()) {
    names.push_back(segment.name);
    frozen.push_back(segment.frozen);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"dense_2/bias", "dense_2/kernel", "batch_normalization/beta",
                                             "batch_normalization/gamma", "dense/bias", "dense/kernel",
                                             "dense_1/kernel", "dense_1/bias"}));
  EXPECT_EQ(frozen, (std::vector<bool>{false, false, false, false, false, false, true, true}));
  ASSERT_EQ(arena.buffer_segments().size(), 2u);
  EXPECT_EQ(arena.buffer_segments()[0].name, "batch_normalization/moving_mean");
}

TEST(ParameterArena, OfNoWeightsIsAskedFor) {
  Sequential net{Flatten()};
  net.build({2, 2}, in_f64());
  EXPECT_EQ(message_of([&] { ParameterArena arena(net); }), "[parameter_arena] the module has no weights");
  const ParameterArena arena(net, TensorOptions{.dtype = DType::f64});
  EXPECT_EQ(arena.size(), 0);
  EXPECT_EQ(arena.values().dtype(), DType::f64);
  EXPECT_EQ(arena.extras().count(), ParameterArena::kExtras);
}

TEST(ParameterArena, SegmentsStartOn64BytesAndDoNotOverlap) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    Sequential net(Dense({.units = 3}), BatchNormalization(), Dense({.units = 5}));
    net.build({4}, {.dtype = dtype});
    net.layers()[2]->set_trainable(false);
    const ParameterArena arena(net);
    const auto base = reinterpret_cast<std::uintptr_t>(arena.values().raw());
    std::int64_t end = 0;
    for (const Segment& segment : arena.segments()) {
      EXPECT_EQ((base + static_cast<std::uintptr_t>(segment.offset) * size_of(dtype)) % 64, 0u);
      EXPECT_GE(segment.offset, end);
      end = segment.offset + segment.count;
      EXPECT_EQ(segment.frozen, segment.offset >= arena.trainable_size());
    }
    EXPECT_LE(end, arena.size());
    EXPECT_EQ(static_cast<std::size_t>(arena.size()) * size_of(dtype) % 64, 0u);
    EXPECT_EQ(arena.values().count(), arena.size() + ParameterArena::kExtras);
    EXPECT_EQ(arena.make_state().count(), arena.trainable_size());
  }
}

TEST(ParameterArena, KeepsValuesAndZeroesPadding) {
  Sequential net = small_net();
  std::vector<std::vector<double>> before;
  for (const Parameter& parameter : net.parameters())
    before.push_back(parameter.variable.value().to_vector<double>());
  const ParameterArena arena(net);
  const std::vector<Parameter> parameters = net.parameters();
  double total = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(parameters[i].variable.value().to_vector<double>(), before[i]) << parameters[i].name;
    if (parameters[i].trainable)
      for (const double value : before[i]) total += std::abs(value);
  }
  double in_arena = 0;
  for (const double value : arena.values().to_vector<double>()) in_arena += std::abs(value);
  EXPECT_NEAR(in_arena, total, 1e-12);  // nothing but the weights: padding and extras are zero
}

TEST(ParameterArena, WeightsGradientsAndStatisticsAreViews) {
  Sequential net = small_net();
  ParameterArena arena(net);
  for (const Parameter& parameter : net.parameters())
    EXPECT_TRUE(parameter.variable.value().shares_storage_with(parameter.trainable ? arena.values()
                                                                                   : arena.buffers()))
        << parameter.name;
  arena.zero_gradients();
  sum(square(net(random_tensor({3, 4}), {.training = true}))).backward();
  for (std::size_t i = 0; i < arena.segments().size(); ++i) {
    const Segment& segment = arena.segments()[i];
    const Tensor slice = arena.gradients().view(segment.offset, segment.shape);
    EXPECT_EQ(slice.to_vector<double>(), arena.variable(i).grad().to_vector<double>()) << segment.name;
    EXPECT_TRUE(arena.variable(i).grad().shares_storage_with(arena.gradients()));
  }
  arena.values().fill(0.25);
  EXPECT_EQ(find_parameter(net, "dense/bias").variable.value().to_vector<double>(),
            (std::vector<double>{0.25, 0.25, 0.25}));
}

TEST(ParameterArena, CompletesGradientsThatDidNotArrive) {
  Sequential net = small_net();
  ParameterArena arena(net);
  arena.gradients().fill(7.0);
  arena.zero_gradients();
  arena.complete_gradients();
  for (const Segment& segment : arena.segments())
    EXPECT_EQ(arena.gradients().view(segment.offset, {segment.count}).to_vector<double>(),
              std::vector<double>(static_cast<std::size_t>(segment.count), 0.0));
  arena.gradients().fill(3.0);  // a reduction's result
  arena.complete_gradients();
  EXPECT_EQ(arena.gradients().to_vector<double>()[0], 3.0);
}

TEST(ParameterArena, ZeroedGradientsStartANewSum) {
  Sequential net = small_net();
  ParameterArena arena(net);
  const Tensor x = random_tensor({3, 4});
  const auto gradients = [&] {
    sum(square(net(x))).backward();
    return arena.gradients().to_vector<double>();
  };
  arena.zero_gradients();
  const std::vector<double> once = gradients();
  const std::vector<double> twice = gradients();
  arena.zero_gradients();
  const std::vector<double> again = gradients();
  for (std::size_t i = 0; i < once.size(); ++i) {
    EXPECT_NEAR(twice[i], 2 * once[i], 1e-12 * std::max(1.0, std::abs(once[i])));
    EXPECT_EQ(again[i], once[i]);
  }
}

// As a graph that was repeated leaves them behind.
TEST(ParameterArena, GradientsThatItIsGivenAreAddedTo) {
  Sequential net = small_net();
  net.children()[0]->set_trainable(false);
  ParameterArena arena(net);
  sum(square(net(random_tensor({3, 4})))).backward();
  const std::vector<double> once = arena.gradients().to_vector<double>();
  arena.use_gradients(arena.gradients().clone());
  for (std::size_t i = 0; i < arena.segments().size(); ++i)
    EXPECT_NE(arena.variable(i).grad().defined(), arena.segments()[i].frozen) << arena.segments()[i].name;
  sum(square(net(random_tensor({3, 4})))).backward();
  const std::vector<double> twice = arena.gradients().to_vector<double>();
  for (std::size_t i = 0; i < once.size(); ++i) EXPECT_NEAR(twice[i], 2 * once[i], 1e-9) << i;
}

TEST(ParameterArena, RefusesWhatItCannotHold) {
  Sequential unbuilt(Dense({.units = 1}));
  EXPECT_THROW(ParameterArena{unbuilt}, Error);
  struct Mixed : Module {
    Variable forward(const Variable& x, const Context&) override { return x; }
    Mixed() {
      add_parameter({.name = "a", .variable = Variable::parameter(Tensor::zeros({1}))});
      add_parameter(
          {.name = "b", .variable = Variable::parameter(Tensor::zeros({1}, {.dtype = DType::f64}))});
    }
  };
  Mixed mixed;
  mixed.build({1});
  EXPECT_EQ(message_of([&] { ParameterArena arena(mixed); }), "[parameter_arena] b is f64, but a is f32");
}

TEST(ParameterArena, WeightsMoveIntoOtherMemory) {
  Sequential net = small_net();
  ParameterArena arena(net);
  const Tensor before = arena.values(), gradients = arena.gradients();
  const std::vector<double> weights = before.to_vector<double>();
  const std::uint64_t version = arena.version();
  const Tensor memory = Tensor::full(before.shape(), 7.0, before.options());
  arena.use_values(memory);
  EXPECT_EQ(memory.to_vector<double>(), weights);
  EXPECT_EQ(arena.values().raw(), memory.raw());
  EXPECT_EQ(arena.gradients().raw(), gradients.raw());
  EXPECT_GT(arena.version(), version);
  memory.fill(0.5);
  for (const Parameter& parameter : net.parameters())
    EXPECT_EQ(parameter.variable.value().to_vector<double>()[0] == 0.5, parameter.trainable)
        << parameter.name;
  EXPECT_EQ(before.to_vector<double>(), weights);
  EXPECT_EQ(message_of([&] { arena.use_values(Tensor::zeros({3}, before.options())); }),
            cat("[parameter_arena] expects a dense buffer like ", memory, " for values, got ",
                Tensor::zeros({3}, before.options())));
}

TEST(ParameterArena, NamesAWeightThatALaterOneHasTaken) {
  Sequential net = small_net();
  ParameterArena first(net);
  SGD optimizer;
  optimizer.attach(first);
  EXPECT_EQ(first.lost_weight(), "");
  net.set_trainable(false);
  const ParameterArena second(net);
  EXPECT_EQ(first.lost_weight(), "dense_2/bias");
  EXPECT_EQ(second.lost_weight(), "") << "it trains none";
  const std::string message = message_of([&] { optimizer.step(); });
  EXPECT_EQ(message.find("[optimizer] dense_2/bias has gone to another arena"), 0u) << message;
  EXPECT_EQ(optimizer.iterations(), 0);
}

TEST(ParameterArena, VersionGrows) {
  Sequential net = small_net();
  ParameterArena arena(net);
  const std::uint64_t before = arena.version();
  arena.bump_version();
  EXPECT_GT(arena.version(), before);
}

// As the ranks of a node do, who share theirs.
TEST(ParameterArena, GradientsThatOthersReplaceGoBackToTheSystem) {
  if (!test::memory_can_be_measured()) GTEST_SKIP() << "a sanitizer keeps what is freed";
  constexpr std::size_t kSlack = 4u << 20;
  Sequential net(Dense({.units = 4096}));
  net.build({2048});  // 32 MB
  ParameterArena arena(net);
  arena.gradients().fill(1.0);
  const Tensor gradients = arena.gradients().clone();
  const std::size_t bytes = gradients.byte_size(), before = test::resident_bytes();
  arena.use_gradients(gradients);
  EXPECT_LT(test::resident_bytes() + bytes - kSlack, before);
}

TEST(ParameterArena, GradientsTakeNoMemoryBeforeThereAreAny) {
  if (!test::memory_can_be_measured()) GTEST_SKIP() << "a sanitizer keeps what is freed";
  constexpr std::size_t kWeights = 32u << 20;
  Sequential net(Dense({.units = 4096}));
  net.build({2048});
  const std::size_t before = test::resident_bytes();  // with the weights, which go into the arena
  ParameterArena arena(net);
  EXPECT_LT(test::resident_bytes(), before + kWeights / 2);
  arena.gradients().fill(1.0);
  EXPECT_GT(test::resident_bytes(), before + kWeights / 2);
}

}  // namespace
}  // namespace ronde::test
