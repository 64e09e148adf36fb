/// TrainingOnly: a layer of a Keras file that changes nothing but while it trains, which it does not do here:
/// the augmentations RandomFlip, RandomRotation, RandomZoom, RandomTranslation, RandomContrast and
/// RandomBrightness, and the noise of GaussianNoise and GaussianDropout. Its outputs are its inputs.
///
/// It keeps its class and its options: what is saved augments again in Keras. `left_out_of_training` names
/// it, so that nobody trains without it unknowingly. Augmentations of this library are the loader's
/// (FitOptions::augmentation).
#pragma once

#include <string>

#include <ronde/nn/module.h>

namespace ronde::inline v0 {

class RONDE_API TrainingOnly : public Module {
 public:
  /// `options`: those of Keras' class, without name, trainable and dtype.
  TrainingOnly(std::string class_name, ConfigDict options)
      : class_name_(std::move(class_name)), options_(std::move(options)) {}
  std::string class_name() const override { return class_name_; }
  ConfigDict config() const override;
  bool keeps_mask() const override { return true; }
  /// (...) -> (...)
  Variable forward(const Variable& x, const Context&) override { return x; }

 private:
  std::string class_name_;
  ConfigDict options_;
};

}  // namespace ronde::inline v0
