/// What a Keras file describes and this library has not: told to the user, never silently different.
#pragma once

#include <string>
#include <vector>

#include <ronde/models/model.h>
#include <ronde/nn/config.h>

#include "messages/warn.h"
#include "weights/training_config.h"

namespace ronde::inline v0 {

struct LeftOut {
  std::string path;
  std::vector<std::string> of_training = {};   ///< optimizer, loss, metrics
  std::vector<std::string> of_loss = {};       ///< factors of the loss
  std::vector<std::string> of_layers = {};     ///< constraints, unknown regularizers, augmentations
  std::vector<std::string> of_options = {};    ///< options of layers that are not known
  std::vector<std::string> of_start = {};      ///< initializers
  std::vector<std::string> of_computing = {};  ///< dtypes
  std::int64_t renamed = 0;                    ///< layers whose names have a '/'

  /// A line for each kind of thing.
  void say(const Warn& warn) const;
  /// Empty for a model that may be trained on as it is.
  std::string why_untrainable(bool is_compiled) const;
};

/// `described` is the file's model_config, `net` what was made of it.
LeftOut find_left_out(const std::string& path, const ConfigValue& described, const Module& net,
                      const DescribedTraining& training, const ModelOptions& options);

}  // namespace ronde::inline v0
