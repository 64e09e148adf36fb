// Weights of slopes and normalisations with the names and layouts of PyTorch.
#include <map>

#include <ronde/models/named_weights.h>
#include <ronde/nn/conv1d.h>
#include <ronde/nn/dense.h>
#include <ronde/nn/flatten.h>
#include <ronde/nn/group_normalization.h>
#include <ronde/nn/layer_normalization.h>
#include <ronde/nn/prelu.h>
#include <ronde/nn/rms_normalization.h>
#include <ronde/nn/sequential.h>

#include "support/gradient_check.h"
#include "support/message_of.h"

namespace ronde::test {
namespace {

// nn.PReLU(2), nn.GroupNorm(2, 2), nn.RMSNorm(2), nn.Flatten(), nn.PReLU(12)
TEST(TorchNorms, HaveTheNamesAndShapesOfPyTorch) {
  Sequential net(PReLU({.shared_axes = {1, 2}}), GroupNormalization({.groups = 2}), RMSNormalization(),
                 Flatten(), PReLU(), PReLU({.shared_axes = {1}}));
  net.build({2, 3, 2});
  const Tensor alpha = net.parameters().at(4).variable.value();  // (h, w, c)
  alpha.copy_from(Tensor::from<float>({12}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  NamedTensors weights = named_weights(net, WeightNames::torch);
  std::map<std::string, Shape> shapes;
  for (const auto& [name, values] : weights) shapes[name] = values.shape();
  EXPECT_EQ(shapes, (std::map<std::string, Shape>{{"p_re_lu.weight", {2}},
                                                  {"group_normalization.weight", {2}},
                                                  {"group_normalization.bias", {2}},
                                                  {"rms_normalization.weight", {2}},
                                                  {"p_re_lu_1.weight", {12}},
                                                  {"p_re_lu_2.weight", {1}}}));
  EXPECT_EQ(weights.at("p_re_lu_1.weight").to_vector<float>(),
            (std::vector<float>{0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11}));
  const std::vector<float> before = alpha.to_vector<float>();
  weights.at("p_re_lu.weight").copy_from(Tensor::from<float>({2}, {0.5, 0.25}));
  alpha.fill(0.0);
  assign_named_weights(net, weights);
  EXPECT_EQ(alpha.to_vector<float>(), before);
  EXPECT_EQ(net.parameters().front().variable.value().to_vector<float>(), (std::vector<float>{0.5, 0.25}));
}

TEST(TorchNorms, SlopesForEachPixelAreNoneOfPyTorch) {
  Sequential net(PReLU(), Flatten(), Dense({.units = 2}));
  net.build({2, 3, 2});
  EXPECT_THROW(named_weights(net, WeightNames::torch), Error);
  NamedTensors weights = named_weights(net);
  EXPECT_NO_THROW(assign_named_weights(net, weights));
  weights.erase("dense/bias");  // names that fit in part are looked at in both flavours
  EXPECT_EQ(assign_matching_weights(net, weights).kept, std::vector<std::string>{"dense/bias"});
}

/// Of a layer of which PyTorch has another order; its bias has the same name there.
struct Shifted : LayerNormalization {
  Shifted() : LayerNormalization({.axes = {1, 2, 3}, .center = false, .name = "shifted"}) {}
  void build_weights(const Shape& input, const BuildOptions& options) override {
    LayerNormalization::build_weights(input, options);
    add_weight({.name = "bias"}, {2}, Initializer::zeros, options);
  }
};

TEST(TorchNorms, NamesOfBothFlavoursDoNotTellWhichItIs) {
  Shifted layer;
  layer.build({2, 3, 2});
  const Tensor gamma = Tensor::zeros({2, 3, 2}), bias = Tensor::zeros({2});
  EXPECT_EQ(message_of<Error>([&] {
              assign_named_weights(layer, {{"weight", gamma}, {"bias", bias}});
            }),
            "[weights] layer shifted has weights for the places in an image, for which PyTorch has another "
            "order");
  EXPECT_EQ(assign_matching_weights(layer, {{"bias", bias}}).kept, std::vector<std::string>{"gamma"});
}

// Groups of flattened pixels are of others there.
TEST(TorchNorms, GroupsOfAFlattenedImageAreNoneOfPyTorch) {
  Sequential flat(Flatten(), GroupNormalization({.groups = 2}));
  flat.build({2, 3, 2});
  EXPECT_THROW(named_weights(flat, WeightNames::torch), Error);
  Sequential series(Conv1D({.filters = 2, .kernel = 1}), GroupNormalization({.groups = 2}), Flatten(),
                    Dense({.units = 1}));
  series.build({3, 1});
  const std::vector<float> rows = named_weights(series).at("dense/kernel").to_vector<float>();
  EXPECT_EQ(named_weights(series, WeightNames::torch).at("dense.weight").to_vector<float>(),
            (std::vector<float>{rows[0], rows[2], rows[4], rows[1], rows[3], rows[5]}));
}

}  // namespace
}  // namespace ronde::test
