// Steps that are not the same each time are not repeated as a graph, or not as the old one.
#include <algorithm>
#include <functional>

#include <ronde/core/ops.h>
#include <ronde/models/cifar10_cnn.h>
#include <ronde/models/cifar10_fast.h>
#include <ronde/models/cifar_resnet.h>
#include <ronde/models/lambda_callback.h>
#include <ronde/models/mnist_cnn.h>
#include <ronde/models/mnist_fast.h>
#include <ronde/models/resnet.h>
#include <ronde/nn/layer_factory.h>
#include <ronde/nn/sgd.h>

#include "cuda/digits.h"

namespace ronde::test {
namespace {

using AfterStep = std::function<void(Model& model, std::int64_t step)>;

/// A training, and what a callback does in it.
struct Varying {
  std::unique_ptr<Module> net = digits_net();
  std::unique_ptr<Loss> loss = std::make_unique<CategoricalCrossentropy>();
  AfterStep after_step = {};
};

Values trained(Varying varying, Backend& backend, std::vector<std::string>* warnings = nullptr) {
  Model model(std::move(varying.net), {8, 8, 1}, {.seed = 3, .backend = &backend});
  model.compile({.optimizer = std::make_unique<SGD>(SGDOptions{.learning_rate = 0.05, .momentum = 0.5}),
                 .loss = std::move(varying.loss)});
  std::int64_t steps = 0;
  LambdaCallback callback({.on_train_batch_end = [&](std::int64_t, const Logs&) {
    if (varying.after_step) varying.after_step(model, ++steps);
  }});
  FitOptions fit{.batch_size = 4, .epochs = 2, .callbacks = {&callback}, .verbose = 0};
  fit.warn = [&](const std::string& line) {
    if (warnings) warnings->push_back(line);
  };
  Values all = model.fit(digits(), fit).values.at("loss");
  for (const double value : model.arena().values().to_vector<double>()) all.push_back(value);
  for (const double value : model.arena().buffers().to_vector<double>()) all.push_back(value);
  return all;
}

/// What is warned of on the GPU.
template <class Make>
std::vector<std::string> expect_that_of_the_cpu(const Make& make, std::int64_t replays) {
  std::vector<std::string> warnings;
  FakeDevice device({.seed = 7});
  const Values expected = trained(make(), backend("cpu"));
  expect_near(trained(make(), device.backend, &warnings), expected, 1e-5);
  EXPECT_EQ(device.runtime.replays(), replays);
  return warnings;
}

/// Multiplies by a number that others may change.
class Scaled : public Dense {
 public:
  explicit Scaled(bool is_repeatable)
      : Dense({.units = 4, .activation = Activation::softmax}), is_repeatable_(is_repeatable) {}
  Variable forward(const Variable& x, const Context& context) override {
    return Dense::forward(x * factor, context);
  }
  bool is_repeatable() const override { return is_repeatable_; }
  double factor = 1.0;

 private:
  bool is_repeatable_;
};

Varying scaled(bool is_repeatable) {
  auto layer = std::make_unique<Scaled>(is_repeatable);
  layer->set_name("scaled");
  Scaled* const seen = layer.get();
  auto net = std::make_unique<Sequential>(Flatten());
  net->add(std::move(layer));
  AfterStep changes = [seen](Model&, std::int64_t) { seen->factor *= 0.9; };
  if (is_repeatable) changes = {};
  return {.net = std::move(net), .after_step = std::move(changes)};
}

TEST(VaryingSteps, LayersOfAProgramMayDoSomethingElseEachTime) {
  const std::vector<std::string> warnings = expect_that_of_the_cpu([] { return scaled(false); }, 0);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(
      warnings[0],
      "steps run kernel by kernel instead of as one graph: [scaled] is of a class of the program's, which "
      "may compute something else each time (is_repeatable says it does not)");
}

TEST(VaryingSteps, UnlessTheySayThatTheyDoNot) {
  EXPECT_TRUE(expect_that_of_the_cpu([] { return scaled(true); }, 18).empty());
}

TEST(VaryingSteps, NobodyIsToldWhereNoGraphsAreWanted) {
  std::vector<std::string> warnings;
  FakeDevice device({}, {.graphs = false});
  trained(scaled(false), device.backend, &warnings);
  EXPECT_TRUE(warnings.empty());
}

TEST(VaryingSteps, NetsOfTheRecipesAreTheSameEachTime) {
  const auto is_known = [](const Module& net) {
    return is_of_known_class(net) && std::ranges::all_of(net.children(), [](const Module* layer) {
             return is_of_known_class(*layer) && layer->children().empty();
           });
  };
  EXPECT_TRUE(is_known(*mnist_cnn()));
  EXPECT_TRUE(is_known(*mnist_fast()));
  EXPECT_TRUE(is_known(*cifar10_cnn()));
  EXPECT_TRUE(is_known(*cifar10_fast()));
  EXPECT_TRUE(is_known(*resnet20()));
  EXPECT_TRUE(is_known(*resnet18()));
}

struct Softened : CategoricalCrossentropy {
  explicit Softened(const double& factor_in) : factor(&factor_in) {}
  Variable operator()(const Variable& output, const Tensor& target) const override {
    return CategoricalCrossentropy::operator()(output, target) * *factor;
  }
  const double* factor;
};

TEST(VaryingSteps, SoMayItsLosses) {
  double factor = 1.0;
  const auto softened = [&factor]() -> Varying {
    factor = 1.0;
    return {.loss = std::make_unique<Softened>(factor),
            .after_step = [&factor](Model&, std::int64_t) { factor *= 0.9; }};
  };
  const std::vector<std::string> warnings = expect_that_of_the_cpu(softened, 0);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("the loss categorical_crossentropy is of a class of the program's"),
            std::string::npos);
}

// Frozen behind step 7, unfrozen behind step 14: two steps each, and then another graph.
TEST(VaryingSteps, LayersMayBeFrozenOnTheWay) {
  for (const std::size_t layer : {0u, 1u}) {  // a convolution; a normalisation, which no longer counts
    const auto frozen = [layer]() -> Varying {
      return {.after_step = [layer](Model& model, std::int64_t step) {
        if (step % 7 == 0) model.module().children()[layer]->set_trainable(step != 7);
      }};
    };
    EXPECT_TRUE(expect_that_of_the_cpu(frozen, 20 - 3 * 2).empty()) << layer;
  }
}

}  // namespace
}  // namespace ronde::test
