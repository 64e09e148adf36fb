// Penalties against their formula, their gradients against central differences of it, and their descriptions.
#include <cmath>

#include <ronde/nn/adam.h>
#include <ronde/nn/dense.h>
#include <ronde/nn/optimizer_groups.h>
#include <ronde/nn/regularization_loss.h>
#include <ronde/nn/sequential.h>
#include <ronde/nn/sgd.h>

#include "nn/config_json.h"
#include "nn/vector_net.h"
#include "support/message_of.h"

namespace ronde::test {
namespace {

using Vectors = std::vector<std::vector<double>>;

const Vectors kWeights{{0.5, -2.0, 0.25}, {-1.0, 3.0}, {0.75, -0.125}, {4.0}};
const std::vector<Regularizer> kRegularizers{Regularizer::l2(0.1), Regularizer::l1(0.2),
                                             Regularizer::l1_l2(0.3, 0.4)};

double penalty(double w, const Regularizer& regularizer) {
  return regularizer.l1_factor() * std::abs(w) + regularizer.l2_factor() * w * w;
}

/// By central differences.
double slope(double w, const Regularizer& regularizer) {
  constexpr double kStep = 1e-6;
  return (penalty(w + kStep, regularizer) - penalty(w - kStep, regularizer)) / (2 * kStep);
}

Regularizer regularizer_of(std::size_t i) {
  return i < kRegularizers.size() ? kRegularizers[i] : Regularizer();
}

Vectors values_of(VectorNet& net) {
  Vectors values;
  for (std::size_t i = 0; i < kWeights.size(); ++i) values.push_back(net.value(i).to_vector<double>());
  return values;
}

Vectors no_gradients() {
  Vectors gradients = kWeights;
  for (auto& gradient : gradients) gradient.assign(gradient.size(), 0.0);
  return gradients;
}

TEST(Regularizer, ThePenaltyIsThatOfAllTrainedWeights) {
  double expected = 0.0;
  for (std::size_t i = 0; i < kWeights.size(); ++i)
    for (const double w : kWeights[i]) expected += penalty(w, regularizer_of(i));
  for (const DType dtype : {DType::f64, DType::f32}) {
    VectorNet net(kWeights, dtype, kRegularizers);
    const double tolerance = dtype == DType::f64 ? 1e-14 : 1e-6;
    EXPECT_NEAR(regularization_loss(net.module()).item(), expected, tolerance);
    const Tensor total = Tensor::full({}, 1.0, {.dtype = DType::f64, .backend = &backend("cpu")});
    add_regularization_loss(total, net.arena());
    EXPECT_NEAR(total.item(), 1.0 + expected, tolerance);
    EXPECT_TRUE(net.arena().is_regularized());
  }
  EXPECT_EQ(regularization_loss(VectorNet(kWeights, DType::f64).module()).item(), 0.0);
  EXPECT_FALSE(VectorNet(kWeights, DType::f64).arena().is_regularized());
}

// Keras' model.losses has none of them either.
TEST(Regularizer, FrozenWeightsHaveNoPenalty) {
  Sequential net(Dense({.units = 2, .kernel_regularizer = Regularizer::l2(1.0), .name = "frozen"}),
                 Dense({.units = 1, .kernel_regularizer = Regularizer::l1(0.5), .name = "trained"}));
  net.build({2}, in_f64());
  net.children().front()->set_trainable(false);
  double expected = 0.0;
  for (const double w : find_parameter(net, "trained/kernel").variable.value().to_vector<double>())
    expected += 0.5 * std::abs(w);
  EXPECT_NEAR(regularization_loss(net).item(), expected, 1e-15);
  ParameterArena arena(net);
  const Tensor total = Tensor::zeros({}, {.dtype = DType::f64});
  add_regularization_loss(total, arena);
  EXPECT_NEAR(total.item(), expected, 1e-15);
}

TEST(Regularizer, AStepAddsItsGradientOnceWhateverTheScale) {
  for (const double scale : {1.0, 0.25}) {
    VectorNet net(kWeights, DType::f64, kRegularizers);
    SGD sgd({.learning_rate = 0.5});
    sgd.attach(net.arena());
    net.set_gradients({{1, 2, 3}, {4, 5}, {6, 7}, {8}});
    sgd.step(scale);
    double gradient = 0.0;
    const Vectors after = values_of(net);
    for (std::size_t i = 0; i < kWeights.size(); ++i)
      for (std::size_t k = 0; k < kWeights[i].size(); ++k) {
        const double w = kWeights[i][k];
        EXPECT_NEAR(after[i][k], w - 0.5 * (scale * ++gradient + slope(w, regularizer_of(i))), 1e-9)
            << i << ' ' << k;
      }
  }
}

// Each backend has its own loops for what they are made of; with a rest that fills no vector.
TEST(Regularizer, IsItsFormulaOnEachBackend) {
  for (Backend* on : backends())
    for (const Regularizer& regularizer : kRegularizers) {
      SCOPED_TRACE(cat(on->name(), ": ", to_json(regularizer.config()).dump()));
      Sequential net(Dense({.units = 33, .use_bias = false, .kernel_regularizer = regularizer}));
      net.build({67}, {.backend = on});
      ParameterArena arena(net);
      const std::vector<double> before = arena.variable(0).value().to_vector<double>();
      double expected = 0.0;
      for (const double w : before) expected += penalty(w, regularizer);
      EXPECT_NEAR(regularization_loss(net).item(), expected, 1e-5 * expected);
      const Tensor total = Tensor::zeros({}, {.dtype = DType::f64, .backend = on});
      add_regularization_loss(total, arena);
      EXPECT_NEAR(total.item(), expected, 1e-5 * expected);
      SGD sgd({.learning_rate = 0.5});
      sgd.attach(arena);
      arena.zero_gradients();
      sgd.step(0.25);
      const std::vector<double> after = arena.variable(0).value().to_vector<double>();
      for (std::size_t i = 0; i < before.size(); ++i)
        EXPECT_NEAR(after[i], before[i] - 0.5 * slope(before[i], regularizer), 1e-6) << i;
    }
}

TEST(Regularizer, AtZeroMagnitudesHaveNoSlope) {
  VectorNet net({{0.0, 1.0}}, DType::f64, {Regularizer::l1(0.5)});
  SGD sgd({.learning_rate = 1.0});
  sgd.attach(net.arena());
  net.set_gradients({{0, 0}});
  sgd.step();
  EXPECT_EQ(net.value().to_vector<double>(), (std::vector{0.0, 0.5}));
}

// As Keras' clipping sees the gradient of the whole loss.
TEST(Regularizer, ClippingSeesItsGradientToo) {
  VectorNet net({{3.0, 4.0}}, DType::f64, {Regularizer::l2(0.5)});  // a gradient of w itself, of norm 5
  SGD sgd({.learning_rate = 1.0, .clip = {.norm = 1.0}});
  sgd.attach(net.arena());
  net.set_gradients({{0, 0}});
  sgd.step();
  EXPECT_NEAR(net.value().to_vector<double>()[0], 3.0 - 0.6, 1e-14);
  EXPECT_NEAR(net.value().to_vector<double>()[1], 4.0 - 0.8, 1e-14);
}

TEST(Regularizer, EachGroupOfAnOptimizerAddsThoseOfItsWeights) {
  const auto plain = [] { return SGD({.learning_rate = 0.5}); };
  OptimizerGroups groups(optimizer_group("w1", plain()), optimizer_group("*", plain()));
  VectorNet net(kWeights, DType::f64, kRegularizers);
  groups.attach(net.arena());
  net.set_gradients(no_gradients());
  groups.step(0.5);
  const Vectors after = values_of(net);
  for (std::size_t i = 0; i < kWeights.size(); ++i)
    for (std::size_t k = 0; k < kWeights[i].size(); ++k)
      EXPECT_NEAR(after[i][k], kWeights[i][k] - 0.5 * slope(kWeights[i][k], regularizer_of(i)), 1e-9);
}

TEST(Regularizer, OfAPartOnlyThatPartsGradientsAreAdded) {
  VectorNet net({{1.0, 2.0, 3.0, 4.0}}, DType::f64, {Regularizer::l2(0.5)});
  SGD sgd({.learning_rate = 1.0});
  sgd.restrict_to({.ranges = {{1, 3}}, .sum = {}});
  sgd.attach(net.arena());
  net.set_gradients({{0, 0, 0, 0}});
  sgd.step();
  EXPECT_EQ(net.value().to_vector<double>(), (std::vector{1.0, 0.0, 0.0, 4.0}));
  EXPECT_EQ(net.grad().to_vector<double>(), (std::vector{0.0, 2.0, 3.0, 0.0}));
}

Regularizer read(const char* json) {
  return Regularizer::from_config(from_json(ordered_json::parse(json)));
}

void expect_factors(const Regularizer& regularizer, double l1, double l2) {
  EXPECT_EQ(regularizer.l1_factor(), l1);
  EXPECT_EQ(regularizer.l2_factor(), l2);
}

TEST(Regularizer, ReadsWhatAnyKerasWrites) {
  expect_factors(read(R"({"class_name": "L1", "config": {"l1": 0.5}})"), 0.5, 0.0);
  expect_factors(read(R"({"module": "keras.regularizers", "class_name": "L2", "config": {"l2": 0.25},
                          "registered_name": null})"),
                 0.0, 0.25);
  expect_factors(read(R"({"module": "tf_keras.src.regularizers", "class_name": "L2", "config": {}})"), 0.0,
                 0.01);
  expect_factors(read(R"({"class_name": "L1L2", "config": {"l1": 0.5, "l2": null}})"), 0.5, 0.0);
  expect_factors(read(R"({"class_name": "L1L2", "config": {"l1": 1, "l2": 2.0}})"), 1.0, 2.0);
  expect_factors(read(R"("l1")"), 0.01, 0.0);
  expect_factors(read(R"("L2")"), 0.0, 0.01);
  expect_factors(read(R"("l1_l2")"), 0.01, 0.01);
  expect_factors(read(R"("L1L2")"), 0.0, 0.0);
  expect_factors(read(R"("l1l2")"), 0.0, 0.0);
}

TEST(Regularizer, RefusesWhatItDoesNotKnow) {
  for (const char* unknown :
       {R"("l3")", R"(1)", R"({"config": {}})", R"({"class_name": "L2", "config": {"l2": "much"}})",
        R"({"class_name": "L2", "config": {"l2": -0.5}})", R"({"class_name": "my>L2", "config": {}})",
        R"({"class_name": "OrthogonalRegularizer", "config": {"factor": 0.01, "mode": "rows"}})",
        R"({"module": "training", "class_name": "L2", "config": {"l2": 0.5}, "registered_name": "my>L2"})",
        R"({"module": null, "class_name": "L2", "config": {"l2": 0.5}, "registered_name": "my>L2"})"})
    EXPECT_THROW(read(unknown), InputError) << unknown;
  EXPECT_EQ(message_of<UsageError>([] { Regularizer::l2(-1.0); }),
            "[regularizer] l2 must be a finite number and not negative, got -1");
  EXPECT_THROW(Regularizer::l1(std::nan("")), UsageError);
}

/// A layer's regularizers, by the names of their weights.
struct LayerCase {
  const char* class_name;
  const char* options;
  std::vector<std::pair<std::string, std::string>> weights;  ///< key in Keras, name of the weight
  Shape input;
};

// Each with a factor of its own, so that none stands in another's place.
TEST(Regularizer, LayersHaveThemInTheirConfigsAndOnTheirWeights) {
  const std::vector<std::pair<std::string, std::string>> with_kernel{{"kernel", "kernel"}, {"bias", "bias"}},
      of_norm{{"beta", "beta"}, {"gamma", "gamma"}};
  const Shape image{6, 6, 2};
  for (const LayerCase& layer :
       {LayerCase{"Dense", R"("units": 2)", with_kernel, {3}},
        {"Conv2D", R"("filters": 2, "kernel_size": 3)", with_kernel, image},
        {"Conv2DTranspose", R"("filters": 2, "kernel_size": 3)", with_kernel, image},
        {"DepthwiseConv2D",
         R"("kernel_size": 3)",
         {{"depthwise", "depthwise_kernel"}, {"bias", "bias"}},
         image},
        {"SeparableConv2D",
         R"("filters": 2, "kernel_size": 3)",
         {{"depthwise", "depthwise_kernel"}, {"pointwise", "pointwise_kernel"}, {"bias", "bias"}},
         image},
        {"BatchNormalization", R"("axis": -1)", of_norm, image},
        {"LayerNormalization", R"("axis": -1)", of_norm, image},
        {"Embedding", R"("input_dim": 4, "output_dim": 2)", {{"embeddings", "embeddings"}}, {3}}}) {
    SCOPED_TRACE(layer.class_name);
    std::string json = layer.options;
    double factor = 0.5;
    for (const auto& [key, weight] : layer.weights)
      json +=
          cat(", \"", key, R"(_regularizer": {"class_name": "L2", "config": {"l2": )", factor *= 0.5, "}}");
    const auto built = parse(layer.class_name, cat("{", json, "}"));
    EXPECT_EQ(left_out_of_training(*built), std::vector<std::string>());
    EXPECT_EQ(text(*layer_from_config(layer.class_name, built->config())), text(*built));
    built->build(layer.input, in_f64());
    factor = 0.5;
    for (const auto& [key, weight] : layer.weights) {
      factor *= 0.5;
      expect_factors(find_parameter(*built, weight).regularizer, 0.0, factor);
      EXPECT_EQ(to_json(built->config())[key + "_regularizer"],
                ordered_json::parse(cat(R"({"class_name": "L2", "config": {"l2": )", factor, "}}")));
    }
    const std::string plain = text(*parse(layer.class_name, cat("{", layer.options, "}")));
    EXPECT_EQ(plain.find("regularizer"), std::string::npos) << plain;
  }
  EXPECT_EQ(to_json(Regularizer::l1_l2(0.5, 0.25).config()),
            ordered_json::parse(R"({"class_name": "L1L2", "config": {"l1": 0.5, "l2": 0.25}})"));
  EXPECT_EQ(to_json(Regularizer::l1(0.5).config()),
            ordered_json::parse(R"({"class_name": "L1", "config": {"l1": 0.5}})"));
}

}  // namespace
}  // namespace ronde::test
