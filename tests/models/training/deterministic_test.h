/// A training in deterministic mode whose result must be the same bits everywhere.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <ronde/data/image_data_generator.h>
#include <ronde/models/reduce_lr_on_plateau.h>
#include <ronde/nn/batch_normalization.h>

#include "models/testing.h"

namespace ronde::test {

/// Kernels of several kinds: a convolution by our own loops (1 channel), one by Winograd's algorithm (16),
/// one by the library (4 filters), statistics.
inline std::unique_ptr<Sequential> deterministic_net() {
  return std::make_unique<Sequential>(
      Conv2D({.filters = 16, .padding = Padding::same, .activation = Activation::relu}), BatchNormalization(),
      MaxPooling2D(), Conv2D({.filters = 16, .padding = Padding::same, .activation = Activation::relu}),
      Conv2D({.filters = 4, .kernel = {2, 2}, .activation = Activation::relu}), Dropout(0.25), Flatten(),
      Dense({.units = 16, .activation = Activation::relu}),
      Dense({.units = 3, .activation = Activation::softmax}));
}

struct Outcome {
  std::string sha256;
  std::map<std::string, std::vector<double>> history;
  bool operator==(const Outcome&) const = default;
};

/// `file`: what to go on from, if any. The model is saved to `save_to`, if that is given.
inline Outcome train_deterministically(Communicator* communicator, FitOptions options = {},
                                       ModelOptions model_options = {}, const std::string& file = {},
                                       const std::string& save_to = {}) {
  model_options.communicator = communicator;
  model_options.seed = 5;
  Model model(deterministic_net(), {6, 6, 1}, model_options);
  CompileOptions compile = small_compile();
  compile.optimizer =
      std::make_unique<Adam>(AdamOptions{.learning_rate = 0.02, .clip = {.global_norm = 0.5}});
  model.compile(std::move(compile));
  if (!file.empty()) model.load_weights(file);
  const InMemoryDataset train = small_images(70), test = small_images(23, 1);
  const Augment augment =
      image_data_generator({.width_shift_range = 0.1, .height_shift_range = 0.1, .horizontal_flip = true});
  ReduceLROnPlateau plateau({.monitor = "val_loss", .factor = 0.5, .patience = 1});
  options.global_batch_size = options.global_batch_size > 0 ? options.global_batch_size : 40;
  options.epochs = 3;
  options.deterministic = true;
  options.validation = &test;
  options.augmentation = &augment;
  options.callbacks = {&plateau};
  options.verbose = 0;
  options.resume = !file.empty();
  const History history = model.fit(train, options);
  if (!save_to.empty()) model.save(save_to);
  return {model.weights_sha256(), history.values};
}

}  // namespace ronde::test
