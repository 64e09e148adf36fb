/// Numbers and choices by chance, of which random nets are made.
#pragma once

#include <cstdint>

#include <ronde/core/ops.h>
#include <ronde/nn/activation.h>

namespace ronde::test {

/// The same numbers on every machine.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}
  /// 0 ... sides - 1
  std::int64_t roll(std::int64_t sides) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::int64_t>((state_ >> 33) % static_cast<std::uint64_t>(sides));
  }
  bool coin() { return roll(2) == 1; }

 private:
  std::uint64_t state_;
};

inline constexpr std::int64_t kRandomClasses = 5;

inline Activation::Kind random_activation(Dice& dice) {
  return static_cast<Activation::Kind>(dice.roll(static_cast<int>(Activation::log_softmax) + 1));
}

inline Padding random_padding(Dice& dice) {
  return dice.coin() ? Padding::same : Padding::valid;
}

}  // namespace ronde::test
