#include <ronde/core/backend.h>
#include <ronde/nn/adagrad.h>
#include <ronde/nn/adam.h>
#include <ronde/nn/optimizer_groups.h>
#include <ronde/nn/sgd.h>

#include "nn/vector_net.h"

namespace ronde::test {
namespace {

using Vectors = std::vector<std::vector<double>>;

const Vectors kThreeWeights{{1, 2, 3}, {-1, 0.5}, {4}};
const Vectors kThreeGradients{{3, -4, 12}, {0.3, 0.4}, {0.7}};

/// Weights w0, w1 and w2 after some steps of an optimizer.
Vectors trained(Optimizer& optimizer, const Vectors& start = kThreeWeights,
                const Vectors& gradient = kThreeGradients, int steps = 3) {
  VectorNet net(start, DType::f64);
  optimizer.attach(net.arena());
  for (int i = 0; i < steps; ++i) {
    net.set_gradients(gradient);
    optimizer.step(0.5);
  }
  Vectors weights;
  for (std::size_t i = 0; i < start.size(); ++i) weights.push_back(net.value(i).to_vector<double>());
  return weights;
}

OptimizerGroups three_kinds() {
  return OptimizerGroups(optimizer_group("w1", SGD({.learning_rate = 0.1, .momentum = 0.9})),
                         optimizer_group("w2", Adagrad({.learning_rate = 0.5})),
                         optimizer_group("*", Adam({.learning_rate = 0.2})));
}

TEST(OptimizerGroups, EachWeightHasItsOwnOptimizer) {
  OptimizerGroups groups = three_kinds();
  const Vectors together = trained(groups);
  Adam adam({.learning_rate = 0.2});
  SGD sgd({.learning_rate = 0.1, .momentum = 0.9});
  Adagrad adagrad({.learning_rate = 0.5});
  EXPECT_EQ(together[0], trained(adam, {kThreeWeights[0]}, {kThreeGradients[0]})[0]);
  EXPECT_EQ(together[1], trained(sgd, {kThreeWeights[1]}, {kThreeGradients[1]})[0]);
  EXPECT_EQ(together[2], trained(adagrad, {kThreeWeights[2]}, {kThreeGradients[2]})[0]);
  EXPECT_EQ(groups.iterations(), 3);
}

TEST(OptimizerGroups, OneRateMovesAll) {
  OptimizerGroups slow = three_kinds();
  EXPECT_EQ(slow.learning_rate(), 0.1);
  slow.set_learning_rate(0.05);
  const Vectors weights = trained(slow, kThreeWeights, kThreeGradients, 1);
  EXPECT_NEAR(weights[1][0], -1 - 0.05 * 0.15, 1e-15);  // SGD: half its rate, times half the gradient
  EXPECT_NEAR(weights[0][0], 1 - 0.1, 1e-6);            // Adam's first step is its rate
  EXPECT_EQ(slow.optimizers()[0]->current_learning_rate(), 0.05);
}

// v = m * factor * v - rate * g, as of one optimizer: -0.1, then 0.5 * 3 * v - 0.1, then 0.5 * v - 0.1.
TEST(OptimizerGroups, AMomentumFactorHoldsForOneStepOfAll) {
  OptimizerGroups groups(optimizer_group("w1", SGD({.learning_rate = 0.1, .momentum = 0.5})),
                         optimizer_group("*", SGD({.learning_rate = 0.1, .momentum = 0.5})));
  VectorNet net(Vectors{{0.0}, {0.0}}, DType::f64);
  groups.attach(net.arena());
  for (const double expected : {-0.1, -0.25, -0.225}) {
    if (groups.iterations() == 1) groups.scale_momentum_once(3.0);
    net.set_gradients({{1.0}, {1.0}});
    groups.step();
    for (const Segment& segment : net.arena().segments())
      EXPECT_NEAR(groups.slots()[0].values.view(segment.offset, {1}).item(), expected, 1e-14) << segment.name;
  }
}

TEST(OptimizerGroups, AGroupMayHaveAScheduleOfItsOwn) {
  SGD first({.learning_rate = 1.0}), rest({.learning_rate = 0.5});
  first.set_schedule(std::make_shared<PolynomialDecay>(
      PolynomialDecayOptions{.initial_rate = 1.0, .decay_steps = 2.0, .end_rate = 0.0}));
  OptimizerGroups groups(optimizer_group("w0", std::move(first)), optimizer_group("*", std::move(rest)));
  const Vectors weights = trained(groups, kThreeWeights, kThreeGradients, 4);
  EXPECT_NEAR(weights[0][0], 1 - (1.0 + 0.5) * 1.5, 1e-14);  // rates 1, 0.5, 0, 0
  EXPECT_NEAR(weights[2][0], 4 - 4 * 0.5 * 0.35, 1e-14);
}

TEST(OptimizerGroups, SlotsAreThoseOfAllWeights) {
  OptimizerGroups groups = three_kinds();
  VectorNet net(kThreeWeights, DType::f64);
  ParameterArena& arena = net.arena();
  groups.attach(arena);
  net.set_gradients(kThreeGradients);
  groups.step();
  std::vector<std::string> names;
  for (const OptimizerSlot& slot : groups.slots()) {
    names.push_back(slot.name);
    EXPECT_EQ(slot.values.shape(), (Shape{arena.trainable_size()}));
    for (const Segment& segment : arena.segments()) {
      const double value = slot.values.view(segment.offset, {1}).to_vector<double>()[0];
      const bool has_it = slot.name == "accumulator" ? segment.name == "w2"
                          : slot.name == "velocity"  ? segment.name == "w0"
                                                     : segment.name != "w2";
      EXPECT_EQ(value != 0.0, has_it) << slot.name << " of " << segment.name;
    }
  }
  EXPECT_EQ(names, (std::vector<std::string>{"momentum", "accumulator", "velocity"}));
}

/// As with sharded state: a part of the weights, cut within the first.
TEST(OptimizerGroups, KeepToTheirPart) {
  OptimizerGroups whole = three_kinds(), part = three_kinds();
  const Vectors expected = trained(whole);
  VectorNet net(kThreeWeights, DType::f64);
  const Segment first = net.arena().segments()[0];  // w2, as the arena is in reverse order
  const Segment last = net.arena().segments()[2];
  ASSERT_EQ(first.name, "w2");
  part.restrict_to({.ranges = {{0, first.offset + 8}, {last.offset + 1, last.offset + 2}}, .sum = {}});
  const Vectors weights = trained(part);
  EXPECT_EQ(weights[2], expected[2]);
  EXPECT_EQ(weights[1], kThreeWeights[1]);
  EXPECT_EQ(weights[0], (std::vector<double>{1, expected[0][1], 3}));
  EXPECT_EQ(part.slots()[0].values.count(), 9);
}

TEST(OptimizerGroups, EveryWeightHasAGroupAndEveryGroupAWeight) {
  VectorNet net(kThreeWeights, DType::f64);
  OptimizerGroups few(optimizer_group("w0", SGD()), optimizer_group("*2", SGD()));
  EXPECT_EQ(message_of([&] { few.attach(net.arena()); }), "[optimizer_groups] no group is for w1");
  OptimizerGroups many(optimizer_group("*", SGD()), optimizer_group("w2", SGD()));
  EXPECT_EQ(message_of([&] { many.attach(net.arena()); }),
            "[optimizer_groups] no weight is left for the group \"w2\"");
  EXPECT_THROW(OptimizerGroups(std::vector<OptimizerGroup>()), UsageError);
  EXPECT_THROW(OptimizerGroups(OptimizerGroup{"*", nullptr}), UsageError);
}

}  // namespace
}  // namespace ronde::test
