/// ValidationFreq: which epochs of a `fit` end with a validation.
///
///     .validation_freq = 2           // 2, 4, 6, ...
///     .validation_freq = {1, 5, 10}  // these, counted from 1 as in Keras
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <variant>
#include <vector>

namespace ronde::inline v0 {

class ValidationFreq {
 public:
  using Epochs = std::vector<std::int64_t>;
  /// Each of so many.
  ValidationFreq(std::int64_t every = 1) : chosen_(every) {}
  /// Those of a list, which has an order and repetitions to no effect.
  ValidationFreq(Epochs epochs) : chosen_(std::move(epochs)) {}
  ValidationFreq(std::initializer_list<std::int64_t> epochs) : chosen_(Epochs(epochs)) {}

  /// A number or a list.
  const std::variant<std::int64_t, Epochs>& chosen() const { return chosen_; }
  /// `epoch` is 0-based, as callbacks are told.
  bool includes(std::int64_t epoch) const {
    if (const auto* every = std::get_if<std::int64_t>(&chosen_)) return (epoch + 1) % *every == 0;
    const auto& listed = *std::get_if<Epochs>(&chosen_);
    return std::find(listed.begin(), listed.end(), epoch + 1) != listed.end();
  }

 private:
  std::variant<std::int64_t, Epochs> chosen_;
};

}  // namespace ronde::inline v0
