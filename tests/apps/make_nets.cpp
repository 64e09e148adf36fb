// make_nets FOLDER: small nets for pictures (28, 28, 1) that the trainers do not make, for nets_test.py.
#include <memory>
#include <string>
#include <vector>

#include <ronde/ronde.h>

using namespace ronde;

namespace {

std::unique_ptr<Loss> loss(const char* name) {
  return make_loss(name);
}

std::unique_ptr<Loss> of_logits(const char* name) {
  return make_loss(name, ConfigDict{{"from_logits", true}});
}

void save(std::unique_ptr<Module> net, std::unique_ptr<Loss> loss, const std::string& path) {
  Model model(std::move(net), {28, 28, 1});
  if (loss) model.compile({.optimizer = std::make_unique<SGD>(), .loss = std::move(loss)});
  model.save(path);
}

/// Says 2, 1 and -3 of any picture.
std::unique_ptr<Sequential> constant() {
  auto net = std::make_unique<Sequential>(Flatten());
  net->add(Dense({.units = 3, .kernel_initializer = Initializer::zeros}));
  net->add(Rescaling({.scale = {1.0}, .offset = {2.0, 1.0, -3.0}}));
  return net;
}

std::unique_ptr<Sequential> constant(Activation::Kind last) {
  auto net = constant();
  net->add(Activation(last));
  return net;
}

/// The same weights behind whatever comes first.
std::unique_ptr<Sequential> classifier(std::unique_ptr<Sequential> first) {
  first->add(Flatten());
  first->add(Dense({.units = 3, .activation = Activation::softmax}));
  return first;
}

std::unique_ptr<Sequential> rescaling(double scale, double offset) {
  auto net = std::make_unique<Sequential>();
  net->add(Rescaling({.scale = {scale}, .offset = {offset}}));
  return net;
}

std::unique_ptr<Sequential> normalizing(double mean, double variance) {
  auto net = std::make_unique<Sequential>();
  net->add(Normalization({.mean = {mean}, .variance = {variance}}));
  return net;
}

std::unique_ptr<Sequential> undoing_normalization(double mean, double variance) {
  auto net = std::make_unique<Sequential>();
  net->add(Normalization({.mean = {mean}, .variance = {variance}, .invert = true}));
  return net;
}

/// Says 2, nan (nothing times more than a float holds) and -3.
std::unique_ptr<Sequential> one_nan() {
  auto net = std::make_unique<Sequential>(Flatten());
  net->add(Dense({.units = 3, .kernel_initializer = Initializer::zeros}));
  net->add(Rescaling({.scale = {1.0}, .offset = {2.0, 0.0, -3.0}}));
  net->add(Rescaling({.scale = {1.0, 1e39, 1.0}}));
  return net;
}

std::unique_ptr<Graph> graph_of_bytes() {
  auto net = std::make_unique<Graph>();
  const Symbol x = net->add(Flatten(), net->add(Rescaling({.scale = {1.0 / 255}}), net->input()));
  net->output(net->add(Dense({.units = 3, .activation = Activation::softmax}), x));
  return net;
}

std::unique_ptr<Graph> two_heads() {
  auto net = std::make_unique<Graph>();
  const Symbol x = net->add(Flatten(), net->input());
  net->output({net->add(Dense({.units = 3, .name = "policy"}), x),
               net->add(Dense({.units = 1, .name = "value"}), x)});
  return net;
}

}  // namespace

int main(int, char** argv) {
  const std::string folder = std::string(argv[1]) + "/";
  save(constant(Activation::sigmoid), loss("binary_crossentropy"), folder + "sigmoid.h5");
  save(constant(), of_logits("binary_crossentropy"), folder + "sigmoid_logits.h5");
  save(constant(Activation::softmax), nullptr, folder + "softmax.h5");
  save(constant(), of_logits("sparse_categorical_crossentropy"), folder + "logits.h5");
  save(constant(), loss("mse"), folder + "regression.h5");
  save(constant(), nullptr, folder + "unknown.h5");
  save(one_nan(), loss("mse"), folder + "one_nan.h5");

  const char* labels = "sparse_categorical_crossentropy";
  save(classifier(std::make_unique<Sequential>()), loss(labels), folder + "plain.h5");
  save(classifier(rescaling(1.0 / 255, 0.0)), loss(labels), folder + "bytes.h5");
  save(classifier(normalizing(0.0, 255.0 * 255.0)), loss(labels), folder + "deviations_of_bytes.h5");
  save(classifier(undoing_normalization(0.0, 1.0 / (255.0 * 255.0))), loss(labels),
       folder + "shares_of_bytes.h5");
  save(classifier(normalizing(0.5, 0.0625)), loss(labels), folder + "deviations.h5");
  save(graph_of_bytes(), loss(labels), folder + "graph_of_bytes.h5");
  save(classifier(rescaling(4.0, -2.0)), loss(labels), folder + "normalized.h5");

  save(two_heads(), nullptr, folder + "two_heads.h5");

  auto weightless = std::make_unique<Sequential>();
  weightless->add(AveragePooling2D({.pool = {14, 14}}));
  weightless->add(Flatten());
  weightless->add(Softmax());
  save(std::move(weightless), loss("categorical_crossentropy"), folder + "weightless.h5");
}
