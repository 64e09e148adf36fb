#include <ronde/nn/layer_factory.h>
#include <ronde/nn/layer_scale.h>

#include "nn/testing.h"

namespace ronde::test {
namespace {

TEST(LayerScale, MultipliesEachChannel) {
  LayerScale layer({.init_values = 0.25});
  layer.build({1, 2}, in_f64());
  const Tensor x = f64_tensor({2, 1, 2}, {1, 2, 3, 4});
  EXPECT_EQ(layer(x).value().to_vector<double>(), (std::vector<double>{0.25, 0.5, 0.75, 1}));
  const Parameter gamma = find_parameter(layer, "gamma");
  EXPECT_EQ(gamma.variable.shape(), Shape{2});
  EXPECT_TRUE(gamma.variable.requires_grad());
  randomize(layer);
  expect_module_gradients(layer, x);
  const std::vector<double> scale = gamma.variable.value().to_vector<double>();
  expect_close(layer(x).value(), {scale[0], 2 * scale[1], 3 * scale[0], 4 * scale[1]}, 1e-14, "scaled");
}

TEST(LayerScale, KnowsItsInputs) {
  LayerScale three({.projection_dim = 3, .name = "scale"});
  EXPECT_EQ(message_of([&] {
              three.build({5, 4});
            }),
            "[scale] projection_dim is 3, the inputs (1, 5, 4) have 4 channels");
  LayerScale any({.name = "scale"});
  any.build({5, 4});
  EXPECT_EQ(message_of([&] {
              any(Tensor::zeros({2, 5, 3}));
            }),
            "[scale] expects inputs (n, ..., 4), got (2, 5, 3)");
  EXPECT_THROW(LayerScale({.projection_dim = -1}), UsageError);
}

}  // namespace
}  // namespace ronde::test
