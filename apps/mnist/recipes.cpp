#include "mnist/recipes.h"

#include <ronde/models/mnist_cnn.h>

namespace ronde::apps {
namespace {

Recipe keras_recipe() {
  return {.name = "keras",
          .make_net = []() -> std::unique_ptr<Module> { return mnist_cnn(MnistCnn::keras); },
          .input_shape = {28, 28, 1},
          .optimizer = "adadelta",
          .learning_rate = 0.1,
          .batch_size = 128,
          .epochs = 3,
          .checkpoint = "checkpoint.h5"};
}

Recipe tf2_recipe() {
  return {.name = "tf2",
          .make_net = []() -> std::unique_ptr<Module> { return mnist_cnn(MnistCnn::tf2); },
          .input_shape = {28, 28, 1},
          .optimizer = "adam",
          .learning_rate = 0.001,
          .batch_size = 128,
          .epochs = 24,
          .shared_steps = 500,
          .validate_each_epoch = false};
}

Recipe estimator_recipe() {
  return {.name = "estimator",
          .make_net = []() -> std::unique_ptr<Module> { return mnist_cnn(MnistCnn::estimator); },
          .input_shape = {28, 28, 1},
          .optimizer = "adam",
          .learning_rate = 0.001,
          .scale_lr = false,
          .batch_size = 64,
          .epochs = 10,
          .validate_each_epoch = false,
          .save_steps = 100,
          .shown_predictions = 10,
          .estimator = EvaluationPace{}};
}

}  // namespace

RecipeNames mnist_recipe_names() {
  return {.available = {"keras", "tf2", "estimator"}, .later = {"fast"}};
}

Recipe mnist_recipe(const std::string& name) {
  if (name == "tf2") return tf2_recipe();
  if (name == "estimator") return estimator_recipe();
  return keras_recipe();
}

}  // namespace ronde::apps
