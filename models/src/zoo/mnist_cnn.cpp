#include <ronde/models/mnist_cnn.h>
#include <ronde/nn/conv2d.h>
#include <ronde/nn/dense.h>
#include <ronde/nn/dropout.h>
#include <ronde/nn/flatten.h>
#include <ronde/nn/max_pooling2d.h>

namespace ronde::inline v0 {

std::unique_ptr<Sequential> mnist_cnn(MnistCnn variant) {
  const bool with_dropout = variant == MnistCnn::keras;
  auto net = std::make_unique<Sequential>();
  net->add(Conv2D({.filters = 32, .activation = Activation::relu}));
  if (variant == MnistCnn::estimator) net->add(MaxPooling2D());
  net->add(Conv2D({.filters = 64, .activation = Activation::relu}));
  net->add(MaxPooling2D());
  if (with_dropout) net->add(Dropout(0.25));
  net->add(Flatten());
  net->add(Dense({.units = 128, .activation = Activation::relu}));
  if (with_dropout) net->add(Dropout(0.5));
  net->add(Dense({.units = 10, .activation = Activation::softmax}));
  return net;
}

}  // namespace ronde::inline v0
