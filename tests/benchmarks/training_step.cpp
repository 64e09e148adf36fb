#include "training_step.h"

#include <utility>
#include <vector>

#include <ronde/core/ops.h>
#include <ronde/core/philox.h>
#include <ronde/models/cifar_resnet.h>
#include <ronde/models/resnet.h>
#include <ronde/nn/adam.h>
#include <ronde/nn/conv2d.h>
#include <ronde/nn/dense.h>
#include <ronde/nn/dropout.h>
#include <ronde/nn/flatten.h>
#include <ronde/nn/gru.h>
#include <ronde/nn/lstm.h>
#include <ronde/nn/max_pooling2d.h>
#include <ronde/nn/rmsprop.h>
#include <ronde/nn/sequential.h>
#include <ronde/nn/sgd.h>

namespace bench {

using namespace ronde;

namespace {

Conv2D conv(std::int64_t filters, Padding padding) {
  return Conv2D({.filters = filters, .padding = padding, .activation = Activation::relu});
}

Dense hidden(std::int64_t units) {
  return Dense({.units = units, .activation = Activation::relu});
}

std::unique_ptr<Optimizer> sgd() {
  return std::make_unique<SGD>(SGDOptions{.learning_rate = 0.01, .momentum = 0.9});
}

Tensor random_images(const Shape& shape, Backend& backend) {
  std::vector<float> values(static_cast<std::size_t>(shape.count()));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = uniform_float(philox(1, {static_cast<std::uint32_t>(i), 0, 0, 0})[0]);
  return Tensor::from<float>(shape, values, &backend);
}

Net read_net(const std::string& path, Backend& backend, std::optional<DType> compute_dtype) {
  auto model =
      std::make_unique<Model>(Model::load(path, {.backend = &backend, .compute_dtype = compute_dtype}));
  const Shape input = model->module().input_shape();
  return {nullptr, sgd(), input, 0, 0, true, std::move(model)};
}

}  // namespace

Net make_net(const std::string& name, Backend& backend, std::optional<DType> compute_dtype) {
  if (is_file(name)) return read_net(name, backend, compute_dtype);
  if (name == "mnist")
    return {std::make_unique<Sequential>(conv(32, Padding::valid), conv(64, Padding::valid), MaxPooling2D(),
                                         Dropout(0.25), Flatten(), hidden(128), Dropout(0.5),
                                         Dense({.units = 10})),
            std::make_unique<Adam>(), Shape{28, 28, 1}, 71.565, 23.985};
  if (name == "cifar10")
    return {std::make_unique<Sequential>(conv(32, Padding::same), conv(32, Padding::valid), MaxPooling2D(),
                                         Dropout(0.25), conv(64, Padding::same), conv(64, Padding::valid),
                                         MaxPooling2D(), Dropout(0.25), Flatten(), hidden(512), Dropout(0.5),
                                         Dense({.units = 10})),
            std::make_unique<RMSprop>(RMSpropOptions{.learning_rate = 1e-4}), Shape{32, 32, 3}, 122.677,
            41.482};
  if (name == "lstm")
    return {std::make_unique<Sequential>(LSTM({.units = 128}), Dense({.units = 10})), sgd(), Shape{50, 64},
            26.091, 9.833};
  if (name == "gru")
    return {std::make_unique<Sequential>(GRU({.units = 128}), Dense({.units = 10})), sgd(), Shape{50, 64},
            19.570, 7.375};
  if (name == "resnet18")
    return {resnet18({.classes = 10, .stem = ResnetStem::cifar}),
            sgd(),
            Shape{32, 32, 3},
            3328.997,
            1110.845,
            true};
  return {resnet20(), sgd(), Shape{32, 32, 3}, 243.994, 81.626, true};
}

TrainingStep::TrainingStep(const std::string& net, std::int64_t batch, Communicator* ranks,
                           const DistributedOptions& options, Backend& backend,
                           std::optional<DType> compute_dtype)
    : net_(make_net(net, backend, compute_dtype)), crossentropy_({.from_logits = !net_.ends_in_softmax}) {
  if (net_.layers) {
    net_.layers->build(net_.input, {.backend = &backend, .compute_dtype = compute_dtype});
    own_arena_ = std::make_unique<ParameterArena>(*net_.layers);
  }
  layers_ = net_.layers ? net_.layers.get() : &net_.from_file->module();
  arena_ = own_arena_ ? own_arena_.get() : &net_.from_file->arena();
  if (ranks)
    distributed_ = std::make_unique<DistributedOptimizer>(std::move(net_.optimizer), *ranks, options);
  distributed_ ? distributed_->attach(*arena_) : net_.optimizer->attach(*arena_);
  const Shape& in = net_.input;
  x_ = random_images(in.batch_of(batch), backend);
  const std::int64_t classes = layers_->output_shape().back();
  std::vector<std::int32_t> labels;
  std::vector<std::int64_t> keys;
  for (std::int64_t i = 0; i < batch; ++i) {
    labels.push_back(static_cast<std::int32_t>(i % classes));
    keys.insert(keys.end(), {i, 0});
  }
  labels_ = Tensor::from<std::int32_t>({batch}, labels, &backend);
  keys_ = Tensor::from<std::int64_t>({batch, 2}, keys, &backend);
}

void TrainingStep::evaluate() {
  const NoGrad no_grad;
  loss_ = sum(crossentropy_((*layers_)(x_), labels_)).value();
}

void TrainingStep::run() {
  arena_->zero_gradients();
  const Variable logits = (*layers_)(x_, {.training = true, .seed = 1, .sample_keys = keys_});
  const Variable loss = sum(crossentropy_(logits, labels_));
  loss.backward();
  if (distributed_) {
    distributed_->step({.samples = x_.size(0)});
  } else {
    arena_->complete_gradients();
    net_.optimizer->step(1.0 / static_cast<double>(x_.size(0)));
  }
  loss_ = loss.value();
}

}  // namespace bench
