#include "cifar10/recipes.h"

#include <ronde/data/image_data_generator.h>
#include <ronde/models/cifar10_cnn.h>
#include <ronde/nn/rmsprop.h>

namespace ronde::apps {
namespace {

// Keras' RMSprop as it was when the recipe was written: sqrt(v) + epsilon, and a rate that decays.
std::unique_ptr<Optimizer> old_rmsprop(double learning_rate, ClipOptions clip) {
  return std::make_unique<RMSprop>(RMSpropOptions{
      .learning_rate = learning_rate, .epsilon_inside_sqrt = false, .decay = 1e-6, .clip = clip});
}

}  // namespace

RecipeNames cifar10_recipe_names() {
  return {.available = {"keras"}, .later = {"fast"}};
}

Recipe cifar10_recipe(const std::string&) {
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
