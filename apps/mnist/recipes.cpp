#include "mnist/recipes.h"

#include <ronde/models/mnist_cnn.h>
#include <ronde/models/mnist_fast.h>

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

// To 99 % in the least time; models/mnist_fast.h says where it comes from.
Recipe fast_recipe() {
  return {
      .name = "fast",
      .make_net = []() -> std::unique_ptr<Module> { return mnist_fast(); },
      .input_shape = {28, 28, 1},
      .loss = {.label_smoothing = 0.1},
      .optimizer = "muon",
      .make_own_optimizer =
          [](const OptimizerNeeds& needs) {
            return mnist_fast_optimizer(
                {.learning_rate = needs.learning_rate, .total_steps = needs.total_steps, .clip = needs.clip});
          },
      .learning_rate = 0.05,
      .batch_size = 256,
      .global_batch = 256,
      .micro_batch = 0,
      .epochs = 1,
      .shared_steps = 140,
      .validate_each_epoch = false,
      .is_record = true};
}

}  // namespace

std::vector<std::string> mnist_recipe_names() {
  return {"keras", "tf2", "estimator", "fast"};
}

Recipe mnist_recipe(const std::string& name) {
  if (name == "tf2") return tf2_recipe();
  if (name == "fast") return fast_recipe();
  if (name == "estimator") return estimator_recipe();
  return keras_recipe();
}

}  // namespace ronde::apps
