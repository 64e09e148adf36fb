/// TimeDistributed: a layer, or a whole net, for each step of a sequence by itself, with the same weights for
/// all.
///
///     Sequential net(TimeDistributed(Conv2D({.filters = 8})),      // (n, steps, h, w, c)
///                    TimeDistributed(GlobalAveragePooling2D()),    // (n, steps, 8)
///                    LSTM({.units = 32}));
///
/// The steps of all samples are one batch to the layer, as in Keras 2: a BatchNormalization takes its
/// statistics of all of them, where Keras 3 takes those of each step. A Dropout in it drops others in each
/// step. A mask of the sequence (n, steps), Variable::mask, is handed on. Of one of more axes, as a text of
/// sentences has, the layer's input has the rest; where its result has none any more, a step counts of which
/// something does, as in Keras 2. A layer that makes a mask of its own is an error. The layer is called
/// "layer", whatever its name was: its weights "time_distributed/layer/kernel" and so on.
#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <utility>

#include <ronde/nn/module.h>

namespace ronde::inline v0 {

class RONDE_API TimeDistributed : public Module {
 public:
  template <std::derived_from<Module> Layer>
  requires(!std::derived_from<Layer, TimeDistributed>) explicit TimeDistributed(Layer&& layer)
      : TimeDistributed(std::make_unique<Layer>(std::move(layer))) {}
  explicit TimeDistributed(std::unique_ptr<Module> layer);
  std::string class_name() const override { return "TimeDistributed"; }
  ConfigDict config() const override;
  bool keeps_mask() const override { return true; }
  /// (n, steps, a...) -> (n, steps, b...), where the layer makes (n, b...) of (n, a...).
  Variable forward(const Variable& x, const Context& context) override;
  const Module& layer() const { return *layer_; }

 private:
  Module* layer_;  // a child of this module
};

}  // namespace ronde::inline v0
