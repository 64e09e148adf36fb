#include <ronde/nn/layer_factory.h>
#include <ronde/nn/rescaling.h>

#include "nn/testing.h"

namespace ronde::test {
namespace {

std::vector<double> rescaled(RescalingOptions options) {
  Rescaling layer(std::move(options));
  const Tensor x = f64_tensor({2, 1, 2}, {1, 2, 3, 4});
  layer.build({1, 2}, in_f64());
  expect_module_gradients(layer, x);
  const std::unique_ptr<Module> copy = layer_from_config("Rescaling", layer.config());
  copy->build({1, 2}, in_f64());
  EXPECT_EQ((*copy)(x).value().to_vector<double>(), layer(x).value().to_vector<double>());
  return layer(x).value().to_vector<double>();
}

TEST(Rescaling, ScalesAllOrEachChannel) {
  using Values = std::vector<double>;
  EXPECT_EQ(rescaled({.scale = {2.0}, .offset = {0.5}}), (Values{2.5, 4.5, 6.5, 8.5}));
  EXPECT_EQ(rescaled({.scale = {2.0, 4.0}}), (Values{2, 8, 6, 16}));
  EXPECT_EQ(rescaled({.offset = {1.0, -1.0}}), (Values{2, 1, 4, 3}));
  Rescaling wrong({.scale = {1.0, 2.0, 3.0}});
  EXPECT_THROW(wrong.build({1, 2}), Error);
  EXPECT_THROW(Rescaling({.scale = {}}), UsageError);
}

}  // namespace
}  // namespace ronde::test
