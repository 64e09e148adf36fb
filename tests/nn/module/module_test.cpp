#include <cmath>
#include <variant>

#include <ronde/core/ops.h>
#include <ronde/nn/conv2d.h>
#include <ronde/nn/dense.h>
#include <ronde/nn/dropout.h>
#include <ronde/nn/embedding.h>
#include <ronde/nn/flatten.h>
#include <ronde/nn/masking.h>
#include <ronde/nn/reshape.h>
#include <ronde/nn/sequential.h>

#include "nn/testing.h"

namespace ronde::test {
namespace {

/// A net as a user writes it: members, a branch, and a weight of its own.
struct Branched : Module {
  Dense left{{.units = 3, .activation = Activation::relu}};
  Dense right{{.units = 3}};
  Dense out{{.units = 2}};
  Variable scale;
  Branched() {
    add_module("out", out);  // registered first, executed last
    add_module("left", left);
    add_module("right", right);
  }
  void build_weights(const Shape&, const BuildOptions& options) override {
    scale = add_parameter({.name = "scale",
                           .variable = Variable::parameter(Tensor::full(
                               {3}, 0.5, {.dtype = options.dtype, .backend = options.backend}))});
  }
  Variable forward(const Variable& x, const Context& context) override {
    const Variable direct = left(x, context);  // before the other: C++ leaves the order of operands open
    return out(direct + right(x, context) * scale, context);
  }
};

std::vector<std::string> names_of(const Module& module) {
  std::vector<std::string> names;
  for (const Parameter& parameter : module.parameters()) names.push_back(parameter.name);
  return names;
}

TEST(Module, ListsWeightsInOrderOfExecution) {
  Branched net;
  net.build({4}, in_f64());
  EXPECT_EQ(names_of(net), (std::vector<std::string>{"scale", "left/kernel", "left/bias", "right/kernel",
                                                     "right/bias", "out/kernel", "out/bias"}));
  EXPECT_EQ(net.parameter_count(), 3 + 2 * (4 * 3 + 3) + (3 * 2 + 2));
  EXPECT_EQ(net.input_shape(), (Shape{4}));
  EXPECT_EQ(net.output_shape(), (Shape{1, 2}));
  EXPECT_EQ(net.left.path(), "left");
}

TEST(Module, UserNetHasRightGradients) {
  Branched net;
  net.build({4}, in_f64());
  randomize(net);
  expect_module_gradients(net, random_tensor({3, 4}, 2));
}

TEST(Module, FirstCallBuilds) {
  Branched net;
  EXPECT_FALSE(net.is_built());
  EXPECT_EQ(net(random_tensor({5, 4})).shape(), (Shape{5, 2}));
  EXPECT_TRUE(net.is_built());
  EXPECT_EQ(net.input_shape(), (Shape{4}));
  EXPECT_EQ(net.left.parameters()[0].variable.dtype(), DType::f64);  // of the input
}

TEST(Module, WeightsForAFileAreNotDrawn) {
  const auto magnitude = [](bool draws) {
    Sequential net(Embedding({.input_dim = 7, .output_dim = 6}), Reshape({.target_shape = {2, 3, 6}}),
                   Sequential(Conv2D({.filters = 4, .kernel = {1, 1}}), Flatten()), Dense({.units = 5}));
    net.build({6}, {.draws = draws});
    double total = 0.0;
    for (const Parameter& parameter : net.parameters())
      for (const float value : parameter.variable.value().to_vector<float>()) total += std::abs(value);
    return total;
  };
  EXPECT_EQ(magnitude(false), 0.0);
  EXPECT_GT(magnitude(true), 1.0);
}

TEST(Module, RebuildingWithAnotherShapeIsAnError) {
  Branched net;
  net.set_name("net");
  net.build({4}, in_f64());
  net.build({4}, in_f64());
  EXPECT_EQ(message_of([&] { net.build({5}, in_f64()); }),
            "[net] was built for inputs of shape (4,) and cannot be built for (5,)");
}

TEST(Module, WrongInputNamesTheLayerAndBothNumbers) {
  Branched net;
  net.build({4}, in_f64());
  EXPECT_EQ(message_of([&] { net(random_tensor({2, 7})); }), "[left] expects 4 inputs, got 7");
}

TEST(Module, FailedBuildLeavesNoTrace) {
  struct Failing : Module {
    Dense first{{.units = 3}};
    bool fails = true;
    Failing() { add_module("first", first); }
    Variable forward(const Variable& x, const Context& context) override {
      const Variable y = first(x, context);
      require(!fails, "no");
      return y;
    }
  };
  Failing net;
  EXPECT_EQ(message_of([&] { net.build({4}); }), "no");
  EXPECT_FALSE(net.is_built());
  EXPECT_TRUE(net.parameters().empty());
  net.fails = false;
  net.build({6});
  EXPECT_EQ(net.parameter_count(), 6 * 3 + 3);
}

TEST(Module, SharedLayerHasOneSetOfWeights) {
  struct Twice : Module {
    Dense layer{{.units = 4}};
    Twice() { add_module("layer", layer); }
    Variable forward(const Variable& x, const Context& context) override {
      return layer(tanh(layer(x, context)), context);
    }
  };
  Twice net;
  net.build({4}, in_f64());
  randomize(net);
  EXPECT_EQ(net.parameter_count(), 4 * 4 + 4);
  expect_module_gradients(net, random_tensor({2, 4}));
}

/// A layer that only training reaches.
struct Auxiliary : Module {
  Dense main{{.units = 2}};
  Dense extra{{.units = 2}};
  Dropout dropout{0.5};
  Auxiliary() {
    add_module("extra", extra);
    add_module("main", main);
    add_module("dropout", dropout);
  }
  Variable forward(const Variable& x, const Context& context) override {
    const Variable y = main(x, context);
    return context.training ? dropout(y + extra(x, context), context) : y;
  }
};

TEST(Module, LayerThatBuildDidNotReachIsAnErrorThatNamesIt) {
  Auxiliary net;
  net.build({3}, in_f64());
  EXPECT_EQ(names_of(net), (std::vector<std::string>{"main/kernel", "main/bias"}));
  const std::string message = message_of([&] { net(random_tensor({2, 3}), {.training = true}); });
  EXPECT_NE(message.find("[extra] was not reached"), std::string::npos) << message;
}

TEST(Module, LayerBuiltBeforehandKeepsItsWeights) {
  Auxiliary net;
  net.extra.build({3}, in_f64(7));
  const std::vector<double> before = net.extra.parameters()[0].variable.value().to_vector<double>();
  net.build({3}, in_f64());
  EXPECT_EQ(names_of(net),
            (std::vector<std::string>{"main/kernel", "main/bias", "extra/kernel", "extra/bias"}));
  // The Dropout that only training reaches has no weights and needs nothing.
  EXPECT_EQ(net(random_tensor({2, 3}), {.training = true}).shape(), (Shape{2, 2}));
  EXPECT_EQ(net.extra.parameters()[0].variable.value().to_vector<double>(), before);
}

// Both would begin with the same numbers under the same name, of which a file keeps one.
TEST(Module, WeightsOfNoPartOfTheNetAreAnError) {
  struct Unnamed : Module {
    Dense first{{.units = 3}}, second{{.units = 3}};
    Variable forward(const Variable& x, const Context& context) override {
      return second(first(x, context), context);
    }
    void name_them() { add_module("first", first), add_module("second", second); }
  };
  Unnamed net;
  EXPECT_EQ(
      message_of([&] { net.build({3}, in_f64()); }),
      "[dense] has weights, but is called by a net that it is not a part of: make it a member there and name "
      "it with add_module");
  net.name_them();
  net.build({3}, in_f64());
  EXPECT_EQ(names_of(net),
            (std::vector<std::string>{"first/kernel", "first/bias", "second/kernel", "second/bias"}));
  EXPECT_NE(net.first.parameters()[0].variable.value().to_vector<double>(),
            net.second.parameters()[0].variable.value().to_vector<double>());
}

// They are gone when somebody asks for the weights, and their place is another one's.
TEST(Module, LayersWithoutWeightsMayBeMadeWhereTheyAreCalled) {
  struct Brief : Module {
    Dense out{{.units = 2}};
    std::variant<std::monostate, Flatten, Dense> place;
    Brief() { add_module("out", out); }
    Variable forward(const Variable& x, const Context& context) override {
      const Variable flat = place.emplace<Flatten>()(x, context);
      place.emplace<std::monostate>();
      return out(flat, context);
    }
  };
  Brief net;
  net.build({2, 3}, in_f64());
  net.place.emplace<Dense>(DenseOptions{.units = 3}).build({4}, in_f64());
  EXPECT_EQ(names_of(net), (std::vector<std::string>{"out/kernel", "out/bias"}));
  EXPECT_EQ(net(random_tensor({4, 2, 3}), {.training = true}).shape(), (Shape{4, 2}));
}

// As a net that is trained to mislead another one knows that one.
TEST(Module, PartsOfAnotherNetAreCalledWithTheWeightsThatTheyHave) {
  Sequential judge(Dense({.units = 1}));
  judge.build({2}, in_f64());
  struct Misleading : Module {
    explicit Misleading(Module& other) : judged_by(other) { add_module("out", out); }
    Variable forward(const Variable& x, const Context& context) override {
      return judged_by(out(x, context), context);
    }
    Dense out{{.units = 2}};
    Module& judged_by;
  };
  Misleading net(judge);
  net.build({3}, in_f64());
  EXPECT_EQ(names_of(net),
            (std::vector<std::string>{"out/kernel", "out/bias", "dense/kernel", "dense/bias"}));
}

TEST(Module, ForgottenContextIsAnError) {
  struct Forgetful : Module {
    Dense layer{{.units = 4}};
    Forgetful() { add_module("layer", layer); }
    Variable forward(const Variable& x, const Context&) override { return layer(x); }
  };
  Forgetful net;
  EXPECT_EQ(message_of([&] { net.build({4}); }),
            "[layer] was called without a context inside forward(): pass it on");
}

TEST(Module, NestedPathsFollowNames) {
  struct Outer : Module {
    Branched block;
    Outer() { add_module("block", block); }
    Variable forward(const Variable& x, const Context& context) override { return block(x, context); }
  };
  Outer net;
  EXPECT_EQ(net.block.left.path(), "block/left");
  net.block.set_name("stage");
  EXPECT_EQ(net.block.left.path(), "stage/left");
  net.build({4});
  EXPECT_EQ(names_of(net)[1], "stage/left/kernel");
}

TEST(Module, NamesAreUniqueAndPlain) {
  Branched net;
  EXPECT_THROW(net.left.set_name("right"), Error);
  EXPECT_THROW(net.left.set_name("a/b"), Error);
  EXPECT_THROW(net.set_name(""), Error);
  net.left.set_name("left");  // its own
  net.left.set_name("first");
  EXPECT_THROW(net.right.set_name("first"), Error);
  net.right.set_name("left");  // which is free again
  struct Doubled : Module {
    Dense a{{.units = 1}}, b{{.units = 1}};
    Doubled() {
      add_module("a", a);
      add_module("a", b);
    }
    Variable forward(const Variable& x, const Context&) override { return x; }
  };
  EXPECT_THROW(Doubled(), Error);
}

TEST(Module, ModuleWithMembersCannotMove) {
  Branched net;
  EXPECT_NE(message_of([&] { Branched moved(std::move(net)); }).find("refers to its member \"out\""),
            std::string::npos);
}

TEST(Module, MovedModuleKeepsWeightsOrderAndChildren) {
  Sequential net(Dense({.units = 3}), Dense({.units = 2}));
  net.build({4}, in_f64());
  const Tensor x = random_tensor({2, 4});
  const std::vector<double> before = net(x).value().to_vector<double>();
  const std::vector<std::string> names = names_of(net);
  Sequential moved(std::move(net));
  EXPECT_EQ(names_of(moved), names);
  EXPECT_EQ(moved(x).value().to_vector<double>(), before);
  EXPECT_EQ(moved.layers()[1]->path(), "dense_1");
}

TEST(Module, MovedModuleKnowsWhetherItsOutputIsMasked) {
  Sequential net(Masking(1.0), Dense({.units = 2}));
  EXPECT_FALSE(net.output_is_masked());
  net.build({4, 3});
  EXPECT_TRUE(net.output_is_masked());
  const Sequential moved(std::move(net));
  EXPECT_TRUE(moved.output_is_masked());
}

TEST(Module, FreezingReachesEveryWeight) {
  Branched net;
  net.build({4}, in_f64());
  net.left.set_trainable(false);
  EXPECT_EQ(net.parameter_count(true), net.parameter_count() - (4 * 3 + 3));
  sum(net(random_tensor({2, 4}))).backward();
  EXPECT_FALSE(find_parameter(net, "left/kernel").variable.grad().defined());
  EXPECT_TRUE(find_parameter(net, "right/kernel").variable.grad().defined());
  net.set_trainable(true);
  EXPECT_EQ(net.parameter_count(true), net.parameter_count());
  Branched frozen;
  frozen.set_trainable(false);  // before build
  frozen.build({4}, in_f64());
  EXPECT_EQ(frozen.parameter_count(true), 0);
}

}  // namespace
}  // namespace ronde::test
