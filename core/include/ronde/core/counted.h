/// Numbers with what they count, for people to read: `cat("expects ", counted(channels, "channel"))` says
/// "expects 1 channel", "expects 1,200 channels".
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

#include <ronde/core/export.h>

namespace ronde::inline v0 {

RONDE_API std::string group_digits(std::string number);

/// 1199882 -> "1,199,882"
template <std::integral T>
std::string grouped(T number) {
  return group_digits(std::to_string(number));
}

/// A count with its noun; made into text only where it is wanted.
struct Counted {
  std::int64_t count = 0;
  std::string_view thing, plural;
};
RONDE_API std::string to_string(const Counted& counted);

/// 1 and "rank" is "1 rank" as text, 2000 and "rank" "2,000 ranks". `plural`: where an s does not make one.
template <std::integral T>
constexpr Counted counted(T count, std::string_view thing, std::string_view plural = {}) {
  return {static_cast<std::int64_t>(count), thing, plural};
}

}  // namespace ronde::inline v0
