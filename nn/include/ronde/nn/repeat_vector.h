/// RepeatVector: each vector as a sequence of `n` equal steps. (batch, features) -> (batch, n, features).
///
///     Sequential net(LSTM({.units = 64}), RepeatVector(10), LSTM({.units = 64, .return_sequences = true}));
#pragma once

#include <cstdint>
#include <string>

#include <ronde/nn/module.h>

namespace ronde::inline v0 {

class RONDE_API RepeatVector : public Module {
 public:
  /// A UsageError for an n that is not positive.
  explicit RepeatVector(std::int64_t n);
  std::string class_name() const override { return "RepeatVector"; }
  ConfigDict config() const override;
  Variable forward(const Variable& x, const Context& context) override;
  std::int64_t n() const { return n_; }

 private:
  std::int64_t n_;
};

}  // namespace ronde::inline v0
