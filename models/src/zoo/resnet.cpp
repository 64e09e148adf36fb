#include <array>

#include <ronde/models/resnet.h>
#include <ronde/nn/activation.h>
#include <ronde/nn/batch_normalization.h>
#include <ronde/nn/conv2d.h>
#include <ronde/nn/dense.h>
#include <ronde/nn/global_average_pooling2d.h>
#include <ronde/nn/max_pooling2d.h>
#include <ronde/nn/merge.h>
#include <ronde/nn/zero_padding2d.h>

namespace ronde::inline v0 {

namespace {

struct Convolution {
  std::int64_t filters;
  std::int64_t kernel;
  std::int64_t stride;
};

/// Adds layers to one net.
class Builder {
 public:
  Builder(Graph& net, const ResnetOptions& options) : net_(net), options_(options) {}

  Symbol stem() {
    const Symbol x = net_.input();
    if (options_.stem == ResnetStem::cifar) return relu(conv(x, {64, 3, 1}));
    const Symbol y = relu(conv(x, {64, 7, 2}));
    const Symbol padded = net_.add(ZeroPadding2D(1), y);  // as good as -infinity after a relu
    return net_.add(MaxPooling2D({.pool = {3, 3}, .strides = Size2d{2, 2}}), padded);
  }

  Symbol relu(const Symbol& x) { return net_.add(Activation(Activation::relu), x); }

  /// Convolution and normalisation. With a stride, `same` would pad one side only; so the zeros come from a
  /// layer of their own.
  Symbol conv(const Symbol& x, Convolution c) {
    const bool pads = c.stride > 1 && c.kernel > 1;
    const Symbol padded = pads ? net_.add(ZeroPadding2D(c.kernel / 2), x) : x;
    const Symbol y = net_.add(Conv2D({.filters = c.filters,
                                      .kernel = {c.kernel, c.kernel},
                                      .strides = {c.stride, c.stride},
                                      .padding = pads ? Padding::valid : Padding::same,
                                      .use_bias = false,
                                      .kernel_initializer = options_.kernel_initializer}),
                              padded);
    return net_.add(BatchNormalization({.momentum = 0.9, .epsilon = 1e-5}), y);
  }

  /// Two 3 x 3 convolutions.
  Symbol basic_block(const Symbol& x, std::int64_t filters, std::int64_t stride, bool projects) {
    Symbol y = relu(conv(x, {filters, 3, stride}));
    y = conv(y, {filters, 3, 1});
    return join(x, y, {filters, 1, stride}, projects);
  }

  /// 1 x 1, 3 x 3, 1 x 1 with four times the filters.
  Symbol bottleneck_block(const Symbol& x, std::int64_t filters, std::int64_t stride, bool projects) {
    Symbol y = relu(conv(x, {filters, 1, 1}));
    y = relu(conv(y, {filters, 3, stride}));
    y = conv(y, {4 * filters, 1, 1});
    return join(x, y, {4 * filters, 1, stride}, projects);
  }

 private:
  Symbol join(const Symbol& x, const Symbol& y, Convolution projection, bool projects) {
    const Symbol shortcut = projects ? conv(x, projection) : x;
    return relu(net_.add(Add(), {shortcut, y}));
  }

  Graph& net_;
  const ResnetOptions& options_;
};

using Block = Symbol (Builder::*)(const Symbol& x, std::int64_t filters, std::int64_t stride, bool projects);

/// `first_projects`: the first stage changes the number of channels.
std::unique_ptr<Graph> make_resnet(const char* name, const ResnetOptions& options,
                                   const std::array<int, 4>& blocks, Block block, bool first_projects) {
  auto net = std::make_unique<Graph>();
  net->set_name(name);
  Builder builder(*net, options);
  Symbol y = builder.stem();
  for (std::size_t stage = 0; stage < blocks.size(); ++stage) {
    for (int i = 0; i < blocks[stage]; ++i) {
      const bool reduces = stage > 0 && i == 0;
      const bool projects = i == 0 && (stage > 0 || first_projects);
      y = (builder.*block)(y, std::int64_t{64} << stage, reduces ? 2 : 1, projects);
    }
  }
  y = net->add(GlobalAveragePooling2D(), y);
  net->output(net->add(Dense({.units = options.classes, .activation = Activation::softmax}), y));
  return net;
}

}  // namespace

std::unique_ptr<Graph> resnet18(ResnetOptions options) {
  return make_resnet("resnet18", options, {2, 2, 2, 2}, &Builder::basic_block, false);
}

std::unique_ptr<Graph> resnet50(ResnetOptions options) {
  return make_resnet("resnet50", options, {3, 4, 6, 3}, &Builder::bottleneck_block, true);
}

}  // namespace ronde::inline v0
