#include <algorithm>
#include <functional>

#include <ronde/nn/concatenate.h>
#include <ronde/nn/dense.h>
#include <ronde/nn/merge.h>

#include "nn/testing.h"

namespace ronde::test {
namespace {

/// The gradients of all inputs of a joining layer.
void expect_join_gradients(Module& layer, const std::vector<Tensor>& inputs) {
  expect_gradients([&](const Variables& v) { return layer(v); }, inputs);
}

TEST(Merge, MatchesKerasFormulas) {
  const std::vector<Tensor> three{random_tensor({2, 3, 4}, 1), random_tensor({2, 3, 4}, 2),
                                  random_tensor({2, 3, 4}, 3)};
  const std::vector<Tensor> two(three.begin(), three.begin() + 2);
  const auto expect = [](Module&& layer, const std::vector<Tensor>& inputs,
                         const std::function<double(double, double)>& f, double scale = 1.0) {
    std::vector<double> expected = inputs[0].to_vector<double>();
    for (std::size_t k = 1; k < inputs.size(); ++k) {
      const std::vector<double> other = inputs[k].to_vector<double>();
      for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = f(expected[i], other[i]);
    }
    for (double& value : expected) value *= scale;
    expect_close(layer(Variables(inputs.begin(), inputs.end())).value(), expected, 1e-14, layer.class_name());
    expect_join_gradients(layer, inputs);
  };
  expect(Add(), three, [](double a, double b) { return a + b; });
  expect(Subtract(), two, [](double a, double b) { return a - b; });
  expect(Multiply(), three, [](double a, double b) { return a * b; });
  expect(
      Average(), three, [](double a, double b) { return a + b; }, 1.0 / 3.0);
  expect(Maximum(), three, [](double a, double b) { return std::max(a, b); });
  expect(CustomScaleLayer(0.25), two, [](double a, double b) { return a + 0.25 * b; });
  expect(Minimum(), three, [](double a, double b) { return std::min(a, b); });
}

TEST(Merge, StretchesExtentsOfOne) {
  Multiply scale;  // a weight for each channel, as in squeeze and excitation
  const std::vector<Tensor> inputs{random_tensor({2, 2, 3, 2}, 1), random_tensor({2, 1, 1, 2}, 2)};
  const Tensor y = scale({inputs[0], inputs[1]}).value();
  const std::vector<double> a = inputs[0].to_vector<double>(), b = inputs[1].to_vector<double>();
  std::vector<double> expected(24);
  for (std::size_t i = 0; i < 24; ++i) expected[i] = a[i] * b[i / 12 * 2 + i % 2];
  expect_close(y, expected, 1e-14, "scaled");
  expect_join_gradients(scale, inputs);
}

TEST(Merge, ErrorsNameTheLayerAndBothShapes) {
  Add add;
  const Tensor x = random_tensor({2, 3, 3, 4});
  EXPECT_EQ(add({x, x}).shape(), x.shape());
  EXPECT_EQ(message_of([&] {
              add({x, random_tensor({2, 2, 3, 4})});
            }),
            "[add] cannot merge inputs of shapes (2, 3, 3, 4) and (2, 2, 3, 4)");
  EXPECT_EQ(message_of([&] {
              add({x, random_tensor({2, 4})});
            }),
            "[add] cannot merge inputs of shapes (2, 3, 3, 4) and (2, 4)");
  EXPECT_EQ(message_of([&] {
              add({x, random_tensor({1, 3, 3, 4})});
            }),
            "[add] cannot merge inputs of shapes (2, 3, 3, 4) and (1, 3, 3, 4)");
  EXPECT_EQ(message_of([&] { add(x); }), "[add] takes two inputs or more, got 1");
  Subtract subtract;
  EXPECT_EQ(subtract({x, x}).shape(), x.shape());
  EXPECT_EQ(message_of([&] { subtract({x, x, x}); }), "[subtract] takes two inputs, got 3");
  EXPECT_EQ(message_of([&] {
              CustomScaleLayer(0.5)({x, x, x});
            }),
            "[custom_scale_layer] takes two inputs, got 3");
  Dense dense({.units = 2});
  EXPECT_EQ(message_of([&] { dense({x, x}); }), "[dense] takes one input, got 2");
}

TEST(Concatenate, PutsInputsBehindEachOther) {
  const std::vector<Tensor> inputs{random_tensor({2, 2, 3}, 1), random_tensor({2, 2, 1}, 2)};
  Concatenate channels;
  const std::vector<double> a = inputs[0].to_vector<double>(), b = inputs[1].to_vector<double>();
  std::vector<double> expected;
  for (std::size_t row = 0; row < 4; ++row) {
    expected.insert(expected.end(), a.begin() + static_cast<std::ptrdiff_t>(row * 3),
                    a.begin() + static_cast<std::ptrdiff_t>(row * 3 + 3));
    expected.push_back(b[row]);
  }
  EXPECT_EQ(channels({inputs[0], inputs[1]}).shape(), (Shape{2, 2, 4}));
  expect_close(channels({inputs[0], inputs[1]}).value(), expected, 0.0, "channels");
  expect_join_gradients(channels, inputs);
  Concatenate rows(1);
  EXPECT_EQ(rows({inputs[0], inputs[0]}).shape(), (Shape{2, 4, 3}));
  EXPECT_EQ(message_of([&] {
              rows({inputs[0], inputs[1]});
            }),
            "[concatenate] inputs of shapes (2, 2, 3) and (2, 2, 1) differ in more than axis 1");
  Concatenate far(3);
  EXPECT_EQ(message_of([&] {
              far({inputs[0], inputs[0]});
            }),
            "[concatenate] inputs of shape (1, 2, 3) have no axis 3");
}

}  // namespace
}  // namespace ronde::test
