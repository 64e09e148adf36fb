#include <ronde/nn/batch_normalization.h>
#include <ronde/nn/conv2d.h>
#include <ronde/nn/dense.h>
#include <ronde/nn/dropout.h>
#include <ronde/nn/flatten.h>
#include <ronde/nn/max_pooling2d.h>
#include <ronde/nn/sequential.h>

#include "nn/testing.h"

namespace ronde::test {
namespace {

Sequential mnist_cnn() {
  return Sequential(Conv2D({.filters = 32, .kernel = {3, 3}, .activation = Activation::relu}),
                    Conv2D({.filters = 64, .kernel = {3, 3}, .activation = Activation::relu}),
                    MaxPooling2D({.pool = {2, 2}}), Dropout(0.25), Flatten(),
                    Dense({.units = 128, .activation = Activation::relu}), Dropout(0.5),
                    Dense({.units = 10, .activation = Activation::softmax}));
}

TEST(Sequential, GivesKerasNames) {
  const Sequential net = mnist_cnn();
  std::vector<std::string> names;
  for (const Module* layer : net.layers()) names.push_back(layer->name());
  EXPECT_EQ(names, (std::vector<std::string>{"conv2d", "conv2d_1", "max_pooling2d", "dropout", "flatten",
                                             "dense", "dropout_1", "dense_1"}));
}

TEST(Sequential, MnistNetHasKerasShapesAndCounts) {
  Sequential net = mnist_cnn();
  net.build({28, 28, 1});
  EXPECT_EQ(net.parameter_count(), 1'199'882);
  EXPECT_EQ(net.output_shape(), (Shape{1, 10}));
  const std::vector<Module*> layers = net.layers();
  EXPECT_EQ(layers[0]->output_shape(), (Shape{1, 26, 26, 32}));
  EXPECT_EQ(layers[2]->output_shape(), (Shape{1, 12, 12, 64}));
  EXPECT_EQ(layers[4]->output_shape(), (Shape{1, 9216}));
  EXPECT_EQ(layers[5]->parameter_count(), 9216 * 128 + 128);
}

TEST(Sequential, CifarNetHasKerasShapesAndCounts) {
  const auto conv = [](std::int64_t filters, Padding padding) {
    return Conv2D({.filters = filters, .padding = padding, .activation = Activation::relu});
  };
  Sequential net(conv(32, Padding::same), conv(32, Padding::valid), MaxPooling2D(), Dropout(0.25),
                 conv(64, Padding::same), conv(64, Padding::valid), MaxPooling2D(), Dropout(0.25), Flatten(),
                 Dense({.units = 512, .activation = Activation::relu}), Dropout(0.5),
                 Dense({.units = 10, .activation = Activation::softmax}));
  net.build({32, 32, 3});
  EXPECT_EQ(net.parameter_count(), 1'250'858);
  EXPECT_EQ(net.layers()[6]->output_shape(), (Shape{1, 6, 6, 64}));
}

TEST(Sequential, KeepsGivenNamesAndAvoidsThem) {
  Sequential net;
  net.add(Dense({.units = 1, .name = "dense_1"}));
  net.add(Dense({.units = 1, .name = "head"}));
  Dense& third = net.add(Dense({.units = 1}));
  EXPECT_EQ(third.name(), "dense_2");
  Dense& fourth = net.add(std::make_unique<Dense>(DenseOptions{.units = 1}));
  EXPECT_EQ(fourth.name(), "dense_3");
  EXPECT_THROW(net.add(Dense({.units = 1, .name = "head"})), Error);
}

TEST(Sequential, NamesGoOnInANetThatHasMoved) {
  Sequential net(Dense({.units = 1}), Dense({.units = 1, .name = "head"}));
  Sequential moved(std::move(net));
  EXPECT_EQ(moved.add(Dense({.units = 1})).name(), "dense_2");
  EXPECT_THROW(moved.add(Dense({.units = 1, .name = "head"})), Error);
}

// A net of thousands of layers would wait for the square of their number.
TEST(Sequential, ANewLayerDoesNotAskAllOthersForTheirNames) {
  struct Counted : Module {
    explicit Counted(int* asked) : asked_(asked) {}
    std::string class_name() const override { return ++*asked_, "Counted"; }
    Variable forward(const Variable& x, const Context&) override { return x; }
    int* asked_;
  };
  constexpr int kLayers = 50;
  int asked = 0;
  Sequential net;
  for (int i = 0; i < kLayers; ++i) net.add(Counted(&asked));
  EXPECT_EQ(net.layers().back()->name(), cat("counted_", kLayers - 1));
  EXPECT_LE(asked, 5 * kLayers);
}

TEST(Sequential, CannotGrowOnceBuilt) {
  Sequential net(Dense({.units = 1}));
  net.build({2});
  EXPECT_EQ(message_of([&] { net.add(Dense({.units = 1})); }),
            "[sequential] is built: no layer can be added any more");
}

TEST(Sequential, NestsWithPaths) {
  Sequential net(Sequential(Dense({.units = 3}), Dense({.units = 2})), Dense({.units = 1}));
  net.build({4}, in_f64());
  std::vector<std::string> names;
  for (const Parameter& parameter : net.parameters()) names.push_back(parameter.name);
  EXPECT_EQ(names, (std::vector<std::string>{"sequential/dense/kernel", "sequential/dense/bias",
                                             "sequential/dense_1/kernel", "sequential/dense_1/bias",
                                             "dense/kernel", "dense/bias"}));
}

TEST(Sequential, WindowThatDoesNotFitNamesTheLayer) {
  Sequential net(Conv2D({.filters = 2}), MaxPooling2D(), Conv2D({.filters = 2}));
  EXPECT_EQ(message_of([&] {
              net.build({5, 5, 1});
            }),
            "[conv2d_1] a window of 3 x 3 does not fit into images of 1 x 1");
}

TEST(Sequential, HasRightGradients) {
  Sequential net(Conv2D({.filters = 2, .kernel = {2, 2}, .activation = Activation::tanh}), MaxPooling2D(),
                 Flatten(), Dense({.units = 3, .activation = Activation::softmax}));
  net.build({5, 5, 2}, in_f64());
  randomize(net);
  expect_module_gradients(net, random_tensor({2, 5, 5, 2}));
}

// A convolution and the pooling behind it are one operation; a class of the user's is called as it is.
TEST(Sequential, PoolingBehindAConvolutionChangesNothing) {
  struct Doubling : MaxPooling2D {
    Variable forward(const Variable& x, const Context& context) override {
      return MaxPooling2D::forward(x, context) * 2.0;
    }
  };
  for (const auto activation : {Activation::relu, Activation::linear, Activation::tanh}) {
    Sequential net(Conv2D({.filters = 3, .kernel = {2, 2}, .activation = activation}),
                   MaxPooling2D({.padding = Padding::same}), Conv2D({.filters = 2, .activation = activation}),
                   Doubling());
    net.build({8, 8, 2}, in_f64());
    randomize(net);
    const Tensor x = random_tensor({2, 8, 8, 2});
    Variable y = x;
    for (Module* layer : net.layers()) y = (*layer)(y);
    expect_close(net(x).value(), y.value().to_vector<double>(), 0, "forward");
    expect_module_gradients(net, x);
  }
}

// Runs of convolutions, pooling and dropout are one operation on a backend that can; each layer by itself is
// the reference, to the bit, and so are its gradients but for the order of their sums.
TEST(Sequential, RunsOfImageLayersChangeNothing) {
  const auto conv = [](std::int64_t filters) {
    return Conv2D({.filters = filters, .activation = Activation::relu});
  };
  for (const BuildOptions& build : {BuildOptions{}, in_f64()})
    for (const bool input_needs_gradient : {false, true}) {
      Sequential net(conv(16), conv(32), MaxPooling2D(), Dropout(0.25), conv(16), Dropout(0.5), conv(3),
                     conv(16));
      net.build({20, 18, 3}, build);
      const Tensor weight = net.parameters().front().variable.value();
      const Tensor image = Tensor::empty({5, 20, 18, 3}, weight.options());
      const Tensor values = random_tensor(image.shape());
      weight.backend().copy(
          image, Tensor::from<double>(image.shape(), values.to_vector<double>(), &weight.backend()));
      const Tensor keys =
          Tensor::from<std::int64_t>({5, 2}, {3, 1, 4, 1, 5, 1, 9, 1, 2, 1}, &weight.backend());
      const Context context{.training = true, .seed = 11, .sample_keys = keys};
      const auto run = [&](const std::function<Variable(const Variable&)>& f) {
        const Variable x = input_needs_gradient ? Variable::parameter(image) : Variable(image);
        const Variable y = f(x);
        for (Parameter p : net.parameters()) p.variable.zero_grad();
        sum(square(y)).backward();
        std::vector<Tensor> results{y.value()};
        if (input_needs_gradient) results.push_back(x.grad());
        for (const Parameter& p : net.parameters()) results.push_back(p.variable.grad().clone());
        return results;
      };
      const std::vector<Tensor> whole = run([&](const Variable& x) { return net(x, context); });
      const std::vector<Tensor> parts = run([&](Variable x) {
        for (Module* layer : net.layers()) x = (*layer)(x, context);
        return x;
      });
      for (std::size_t i = 0; i < parts.size(); ++i)
        expect_close(whole[i], parts[i].to_vector<double>(), i == 0 ? 0 : 1e-5, cat("result ", i));
    }
}

// Images of another size than the net was built for.
// Dense with a relu and the dropout behind it are one operation; a class of the user's is called as it is.
TEST(Sequential, DropoutBehindDenseChangesNothing) {
  struct Doubling : Dropout {
    using Dropout::Dropout;
    Variable forward(const Variable& x, const Context& context) override {
      return Dropout::forward(x, context) * 2.0;
    }
  };
  for (const auto activation : {Activation::relu, Activation::linear, Activation::tanh}) {
    Sequential net(Dense({.units = 5, .activation = activation}), Dropout(0.25),
                   Dense({.units = 4, .activation = activation}), Doubling(0.5));
    net.build({3}, in_f64());
    randomize(net);
    const Tensor x = random_tensor({2, 3});
    const Tensor keys = Tensor::from<std::int64_t>({2, 2}, {3, 1, 4, 1}, &x.backend());
    const Context context{.training = true, .seed = 11, .sample_keys = keys};
    const auto gradients = [&](const std::function<Variable(const Variable&)>& f) {
      for (Parameter p : net.parameters()) p.variable.zero_grad();
      const Variable input = Variable::parameter(x), y = f(input);
      sum(square(y)).backward();
      std::vector<double> all = y.value().to_vector<double>();
      const auto append = [&](const Tensor& grad) {
        for (const double value : grad.to_vector<double>()) all.push_back(value);
      };
      append(input.grad());
      for (const Parameter& p : net.parameters()) append(p.variable.grad());
      return all;
    };
    EXPECT_EQ(gradients([&](const Variable& input) { return net(input, context); }),
              gradients([&](Variable y) {
                for (Module* layer : net.layers()) y = (*layer)(y, context);
                return y;
              }));
    EXPECT_EQ(net(x).value().to_vector<double>(), [&] {
      Variable y = x;
      for (Module* layer : net.layers()) y = (*layer)(y);
      return y.value().to_vector<double>();
    }());
  }
}

TEST(Sequential, ARunsErrorsNameTheLayer) {
  Sequential net(Conv2D({.filters = 16}), Conv2D({.filters = 16}), MaxPooling2D());
  net.build({12, 12, 1});
  const auto error = [&](const Shape& shape) { return message_of([&] { net(Tensor::zeros(shape)); }); };
  EXPECT_EQ(error({1, 4, 4, 1}), "[conv2d_1] a window of 3 x 3 does not fit into images of 2 x 2");
  EXPECT_EQ(error({1, 12, 12, 2}), "[conv2d] expects 1 input channel, got 2");
}

}  // namespace
}  // namespace ronde::test
