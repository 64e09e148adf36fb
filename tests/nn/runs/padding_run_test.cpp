// Margins and a convolution as one: what the two layers give, in each pass, and when they are one.
#include <memory>
#include <set>
#include <string>

#include <ronde/core/trace_recorder.h>
#include <ronde/nn/conv2d.h>
#include <ronde/nn/depthwise_conv2d.h>
#include <ronde/nn/max_pooling2d.h>
#include <ronde/nn/zero_padding2d.h>

#include "nn/relu_nets.h"

namespace ronde::test {
namespace {

/// Of a class that no run takes in.
class OwnPadding : public ZeroPadding2D {
 public:
  using ZeroPadding2D::ZeroPadding2D;
};

constexpr std::int64_t kChannels = 20;

/// A strided convolution, one of each channel by itself, and one with another activation behind its bias.
template <class Pad>
std::unique_ptr<Module> padded_graph() {
  auto net = std::make_unique<Graph>();
  Symbol y = net->add(Pad({.top = 0, .bottom = 2, .left = 1, .right = 2}), net->input());
  y = net->add(Conv2D({.filters = 24, .kernel = {3, 3}, .strides = {2, 1}, .use_bias = false}), y);
  y = net->add(Pad({.top = 4, .bottom = 1, .left = 0, .right = 2}), y);
  y = net->add(DepthwiseConv2D({.kernel = {5, 3}, .strides = {1, 2}, .activation = Activation::relu}), y);
  y = net->add(Pad({.top = 1, .bottom = 1, .left = 2, .right = 2}), y);
  net->output(net->add(Conv2D({.filters = 7, .kernel = {2, 3}, .activation = Activation::tanh}), y));
  return net;
}

/// In front of one convolution, of two, and of one with a pooling behind it.
template <class Pad>
std::unique_ptr<Module> padded_sequence() {
  const auto conv = [](Activation::Kind activation) {
    return Conv2D({.filters = 16, .kernel = {3, 3}, .activation = activation});
  };
  return std::make_unique<Sequential>(
      Pad({.top = 2, .bottom = 1, .left = 2, .right = 1}), conv(Activation::linear), Pad(2),
      conv(Activation::relu), conv(Activation::relu), Pad({.top = 0, .bottom = 2, .left = 1, .right = 2}),
      conv(Activation::relu), MaxPooling2D());
}

TEST(PaddingRun, GivesWhatItsLayersGive) {
  for (const Backend* each : backends())
    for (const DType dtype : {DType::f32, DType::f64}) {
      SCOPED_TRACE(cat(each->name(), " ", to_string(dtype)));
      const BuildOptions options{.dtype = dtype, .backend = &backend(each->name())};
      const auto expect_equal = [&](Module& one, Module& two) {
        const std::vector<double> got = numbers_of(one, options, kChannels),
                                  expected = numbers_of(two, options, kChannels);
        ASSERT_EQ(got.size(), expected.size());
        for (std::size_t i = 0; i < got.size(); ++i)
          ASSERT_NEAR(got[i], expected[i], (dtype == DType::f64 ? 1e-12 : 2e-5) * (1 + std::abs(expected[i])))
              << i;
      };
      expect_equal(*padded_graph<ZeroPadding2D>(), *padded_graph<OwnPadding>());
      expect_equal(*padded_sequence<ZeroPadding2D>(), *padded_sequence<OwnPadding>());
    }
}

/// The names of layers that ran together.
template <class Layer>
std::set<std::string> runs_of(ZeroPadding2DOptions padding, Layer layer) {
  padding.name = "pad";
  auto net = std::make_unique<Sequential>(ZeroPadding2D(padding), std::move(layer));
  net->build({9, 9, kChannels});
  std::set<std::string> names;
  TraceRecorder recorder;
  (*net)(Tensor::zeros({1, 9, 9, kChannels}));
  recorder.stop();
  recorder.drain([&](const TraceThread&, std::span<const TraceEvent> events) {
    for (const TraceEvent& event : events)
      if (std::string(event.name).find("pad") != std::string::npos) names.insert(event.name);
  });
  return names;
}

TEST(PaddingRun, IsOneWhereNoWindowLiesInAMargin) {
  const std::set<std::string> together{"pad + conv"}, apart{"pad"};
  const auto conv = [](Padding padding) {
    return Conv2D({.filters = 2, .kernel = {3, 3}, .padding = padding, .name = "conv"});
  };
  EXPECT_EQ(runs_of({2, 2, 2, 2}, conv(Padding::valid)), together);
  EXPECT_EQ(runs_of({0, 2, 0, 2}, DepthwiseConv2D({.name = "conv"})), together);
  EXPECT_EQ(runs_of({4, 4, 4, 4}, DepthwiseConv2D({.dilation = {2, 2}, .name = "conv"})), together);
  EXPECT_EQ(runs_of({3, 0, 0, 0}, conv(Padding::valid)), apart);
  EXPECT_EQ(runs_of({0, 0, 0, 3}, DepthwiseConv2D({.name = "conv"})), apart);
  EXPECT_EQ(runs_of({1, 1, 1, 1}, conv(Padding::same)), apart);
}

TEST(PaddingRun, SaysWhatDoesNotFit) {
  Sequential net(ZeroPadding2D(ZeroPadding2DOptions{1, 0, 1, 0, {}}),
                 Conv2D({.filters = 2, .kernel = {3, 3}, .name = "edge"}));
  net.build({4, 4, 1});
  EXPECT_EQ(message_of([&] {
              net(Tensor::zeros({1, 2, 1, 1}));
            }),
            "[edge] a window of 3 x 3 does not fit into images of 3 x 2");
}

}  // namespace
}  // namespace ronde::test
