/// Bidirectional: a recurrent layer and a second one that takes the steps in the other order, and both their
/// outputs as one.
///
///     Bidirectional(LSTM({.units = 64, .return_sequences = true}))       // (n, steps, 128)
///     Bidirectional(GRU({.units = 64}), {.merge_mode = MergeMode::sum})  // (n, 64)
///
/// With return_sequences both outputs of a step are those that the two layers gave for it. Weights are called
/// "forward_layer/kernel", "backward_layer/kernel" and so on.
#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include <ronde/nn/recurrent.h>

namespace ronde::inline v0 {

/// What becomes of two outputs: side by side along the last axis, their sum, their product, their mean.
enum class MergeMode { concat, sum, mul, ave };

struct BidirectionalOptions {
  MergeMode merge_mode = MergeMode::concat;
  std::string name = {};
};

class RONDE_API Bidirectional : public Module {
 public:
  /// The layer and one with its options that goes the other way, with weights of its own.
  template <std::derived_from<Recurrent> Layer>
  explicit Bidirectional(Layer&& layer, BidirectionalOptions options = {})
      : Bidirectional(std::make_unique<Layer>(std::move(layer)), nullptr, std::move(options)) {}
  /// Two layers, one of which goes backwards; a `backward` that is null stands for `forward.reversed()`.
  Bidirectional(std::unique_ptr<Recurrent> forward, std::unique_ptr<Recurrent> backward,
                BidirectionalOptions options = {});
  std::string class_name() const override { return "Bidirectional"; }
  ConfigDict config() const override;
  bool keeps_mask() const override { return forward_->keeps_mask(); }
  /// (n, steps, features) -> (n, units) or (n, steps, units); with MergeMode::concat the units of both.
  Variable forward(const Variable& x, const Context& context) override;
  MergeMode merge_mode() const { return merge_mode_; }
  const Recurrent& forward_layer() const { return *forward_; }
  const Recurrent& backward_layer() const { return *backward_; }

 private:
  MergeMode merge_mode_;
  bool has_own_backward_;      // not just forward_ reversed
  Recurrent* forward_;         // children of this module
  Recurrent* backward_;
};

}  // namespace ronde::inline v0
