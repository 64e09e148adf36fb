/// Options of optimizers that must lie in a range: UsageErrors that name optimizer, option and value.
#pragma once

#include <cmath>

#include <ronde/core/error.h>

namespace ronde::inline v0 {

/// A decay of running means or of momentum: at 1 a mean would never change.
inline void expect_decay_rate(const char* optimizer, const char* option, double value) {
  require<UsageError>(value >= 0 && value < 1, "[", optimizer, "] ", option, " must be in [0, 1), got ",
                      value);
}

/// As Keras has it: at 1 a velocity keeps growing.
inline void expect_momentum(const char* optimizer, double value) {
  require<UsageError>(value >= 0 && value <= 1, "[", optimizer, "] momentum must be in [0, 1], got ", value);
}

inline void expect_not_negative(const char* optimizer, const char* option, double value) {
  require<UsageError>(value >= 0 && std::isfinite(value), "[", optimizer, "] ", option,
                      " must be a finite number and not negative, got ", value);
}

/// What Adam and those like it have in common.
template <class Options>
void expect_moments(const char* optimizer, const Options& options) {
  expect_decay_rate(optimizer, "beta_1", options.beta_1);
  expect_decay_rate(optimizer, "beta_2", options.beta_2);
  expect_not_negative(optimizer, "epsilon", options.epsilon);
}

}  // namespace ronde::inline v0
