/// GroupNormalization: the channels of each sample in groups, each group, over all its positions, to mean 0
/// and variance 1, then each channel times its gamma plus its beta.
///
///     GroupNormalization()                    // (n, h, w, 64): 32 groups of two channels
///     GroupNormalization({.groups = -1})      // each channel of an image by itself (instance normalization)
///
/// y = (x - mean) / sqrt(variance + epsilon) * gamma + beta, with the biased variance. It computes as much
/// while it trains as later, and knows nothing of other samples: small batches, and many ranks, change
/// nothing. In bf16 it computes in f32. Steps that a mask leaves out count as others do, as in Keras 3. Keras
/// has had the class since 2.11. Source: Wu and He, "Group normalization", 2018.
#pragma once

#include <cstdint>
#include <string>

#include <ronde/nn/initializer.h>
#include <ronde/nn/module.h>

namespace ronde::inline v0 {

struct GroupNormalizationOptions {
  std::int64_t groups = 32;  ///< of equally many channels; -1: one for each channel
  std::int64_t axis = -1;    ///< of the channels: the last, as -1 or as its number; `build` refuses others
  double epsilon = 1e-3;
  bool center = true;  ///< has beta
  bool scale = true;   ///< has gamma
  Initializer beta_initializer = Initializer::zeros;
  Initializer gamma_initializer = Initializer::ones;
  Regularizer beta_regularizer = {};
  Regularizer gamma_regularizer = {};
  std::string name = {};
};

class RONDE_API GroupNormalization : public Module {
 public:
  explicit GroupNormalization(GroupNormalizationOptions options = {});
  std::string class_name() const override { return "GroupNormalization"; }
  const GroupNormalizationOptions& options() const { return options_; }
  /// Of so many channels; an error if they cannot be split into them.
  std::int64_t groups_of(std::int64_t channels) const;
  ConfigDict config() const override;
  bool keeps_mask() const override { return true; }
  /// (n, ..., c) -> (n, ..., c)
  Variable forward(const Variable& x, const Context& context) override;

 protected:
  void build_weights(const Shape& input, const BuildOptions& options) override;

 private:
  GroupNormalizationOptions options_;
  std::int64_t channels_ = 0;
  Variable gamma_, beta_;  // (c); undefined when not wanted
};

}  // namespace ronde::inline v0
