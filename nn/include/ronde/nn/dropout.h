/// Dropout: while training, drops the fraction `rate` of the elements and scales the rest by 1 / (1 - rate).
///
/// The mask of a row is a function of (context.seed, epoch, global sample index, path of the layer), where
/// context.sample_keys, which a loader's batch carries, gives sample and epoch: so it is the same on any
/// number of ranks. Without sample keys row i of the layer's k-th such call counts as sample i of epoch k:
/// masks still differ from row to row and step to step, but depend on the calls made before.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <ronde/core/ops.h>
#include <ronde/nn/module.h>

namespace ronde::inline v0 {

class RONDE_API Dropout : public Module {
 public:
  explicit Dropout(double rate);
  double rate() const { return rate_; }
  std::string class_name() const override { return "Dropout"; }
  ConfigDict config() const override;
  Variable forward(const Variable& x, const Context& context) override;
  /// What the operation `dropout` gets for as many samples as x has; nothing where none are dropped. Without
  /// sample keys it counts as a call of the layer.
  std::optional<DropoutCall> call(const Variable& x, const Context& context);

 private:
  Tensor make_keys(const Variable& x);

  double rate_;
  std::int64_t unkeyed_calls_ = 0;  // only touched atomically
};

}  // namespace ronde::inline v0
