#include "cifar10/recipes.h"

#include <ronde/data/geometric_augmentations.h>
#include <ronde/data/image_data_generator.h>
#include <ronde/models/cifar10_cnn.h>
#include <ronde/models/cifar10_fast.h>
#include <ronde/nn/rmsprop.h>

namespace ronde::apps {
namespace {

// Keras' RMSprop as it was when the recipe was written: sqrt(v) + epsilon, and a rate that decays.
std::unique_ptr<Optimizer> old_rmsprop(const OptimizerNeeds& needs) {
  return std::make_unique<RMSprop>(RMSpropOptions{
      .learning_rate = needs.learning_rate, .epsilon_inside_sqrt = false, .decay = 1e-6, .clip = needs.clip});
}

std::unique_ptr<Callback> fast_callback() {
  return std::make_unique<Cifar10FastFreeze>();
}

// To 94 % in the least time; models/cifar10_fast.h says where it comes from.
Recipe fast_recipe() {
  return {.name = "fast",
          .make_net = []() -> std::unique_ptr<Module> { return cifar10_fast(); },
          .prepare_net = prepare_cifar10_fast,
          .input_shape = {32, 32, 3},
          .loss = {.label_smoothing = 0.2},
          .optimizer = "muon",
          .make_own_optimizer =
              [](const OptimizerNeeds& needs) {
                return cifar10_fast_optimizer({.learning_rate = needs.learning_rate,
                                               .total_steps = needs.total_steps,
                                               .steps_per_epoch = needs.steps_per_epoch,
                                               .clip = needs.clip});
              },
          .make_callback = fast_callback,
          .learning_rate = 0.24,
          .batch_size = 2000,
          .global_batch = 2000,
          .micro_batch = 500,
          .epochs = 9,
          .validate_each_epoch = false,
          .augmentation =
              Augment(RandomCrop({.padding = 2, .fill = {.mode = FillMode::reflect}}), AlternatingFlip()),
          .augmentation_description = "shifts up to 2 pixels, alternating horizontal flips",
          .test_views = shifted_mirror_views(),
          .is_record = true,
          .saved_model = "saved_models/cifar10_fast.h5"};
}

}  // namespace

std::vector<std::string> cifar10_recipe_names() {
  return {"keras", "fast"};
}

Recipe cifar10_recipe(const std::string& name) {
  if (name == "fast") return fast_recipe();
  return {.name = "keras",
          .make_net = []() -> std::unique_ptr<Module> { return cifar10_cnn(); },
          .input_shape = {32, 32, 3},
          .optimizer = "rmsprop",
          .make_own_optimizer = old_rmsprop,
          .learning_rate = 1e-4,
          .batch_size = 32,
          .epochs = 100,
          .rank_passes = true,
          .augmentation = image_data_generator(
              {.width_shift_range = 0.1, .height_shift_range = 0.1, .horizontal_flip = true}),
          .augmentation_description = "shifts up to 0.1, horizontal flips",
          .checkpoint = "checkpoint-{epoch}.h5",
          .saved_model = "saved_models/keras_cifar10_trained_model.h5",
          .shown_predictions = 20};
}

}  // namespace ronde::apps
