#include <ronde/models/cifar_resnet.h>
#include <ronde/nn/activation.h>
#include <ronde/nn/batch_normalization.h>
#include <ronde/nn/conv2d.h>
#include <ronde/nn/dense.h>
#include <ronde/nn/global_average_pooling2d.h>
#include <ronde/nn/merge.h>

namespace ronde::inline v0 {

namespace {

Conv2D conv(std::int64_t filters, std::int64_t kernel, std::int64_t stride, const Regularizer& regularizer) {
  return Conv2D({.filters = filters,
                 .kernel = {kernel, kernel},
                 .strides = {stride, stride},
                 .padding = Padding::same,
                 .kernel_initializer = Initializer::he_normal,
                 .kernel_regularizer = regularizer});
}

/// x + f(x), with a projection of x where the shapes differ.
Symbol add_block(Graph& net, const Symbol& x, std::int64_t filters, std::int64_t stride, bool projects,
                 const Regularizer& regularizer) {
  Symbol y = net.add(conv(filters, 3, stride, regularizer), x);
  y = net.add(BatchNormalization(), y);
  y = net.add(Activation(Activation::relu), y);
  y = net.add(conv(filters, 3, 1, regularizer), y);
  y = net.add(BatchNormalization(), y);
  const Symbol shortcut = projects ? net.add(conv(filters, 1, stride, regularizer), x) : x;
  return net.add(Activation(Activation::relu), net.add(Add(), {shortcut, y}));
}

}  // namespace

std::unique_ptr<Graph> cifar_resnet(CifarResnetOptions options) {
  require<UsageError>(options.depth >= 8 && options.depth % 6 == 2,
                      "[cifar_resnet] depth must be 6 n + 2 (20, 32, 56, ...), got ", options.depth);
  auto net = std::make_unique<Graph>();
  net->set_name("resnet" + std::to_string(options.depth));
  Symbol y = net->add(conv(16, 3, 1, options.conv_regularizer), net->input());
  y = net->add(BatchNormalization(), y);
  y = net->add(Activation(Activation::relu), y);
  for (int stage = 0; stage < 3; ++stage) {
    for (int block = 0; block < (options.depth - 2) / 6; ++block) {
      const bool reduces = stage > 0 && block == 0;
      y = add_block(*net, y, std::int64_t{16} << stage, reduces ? 2 : 1, reduces, options.conv_regularizer);
    }
  }
  y = net->add(GlobalAveragePooling2D(), y);
  net->output(net->add(Dense({.units = options.classes,
                              .activation = Activation::softmax,
                              .kernel_initializer = Initializer::he_normal}),
                       y));
  return net;
}

}  // namespace ronde::inline v0
