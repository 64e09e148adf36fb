/// Chance that is the same on every machine.
#pragma once

#include <cstdint>

namespace ronde::testing {

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

}  // namespace ronde::testing
