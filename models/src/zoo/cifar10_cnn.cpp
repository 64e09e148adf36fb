#include <ronde/models/cifar10_cnn.h>
#include <ronde/nn/conv2d.h>
#include <ronde/nn/dense.h>
#include <ronde/nn/dropout.h>
#include <ronde/nn/flatten.h>
#include <ronde/nn/max_pooling2d.h>

namespace ronde::inline v0 {

std::unique_ptr<Sequential> cifar10_cnn() {
  auto net = std::make_unique<Sequential>();
  for (const std::int64_t filters : {32, 64}) {
    net->add(Conv2D({.filters = filters, .padding = Padding::same, .activation = Activation::relu}));
    net->add(Conv2D({.filters = filters, .activation = Activation::relu}));
    net->add(MaxPooling2D());
    net->add(Dropout(0.25));
  }
  net->add(Flatten());
  net->add(Dense({.units = 512, .activation = Activation::relu}));
  net->add(Dropout(0.5));
  net->add(Dense({.units = 10, .activation = Activation::softmax}));
  return net;
}

}  // namespace ronde::inline v0
