#include "exchange/select_largest.h"

#include <array>
#include <bit>
#include <type_traits>

namespace ronde::inline v0 {
namespace {

template <class T>
using Bits = std::conditional_t<std::is_same_v<T, float>, std::uint32_t, std::uint64_t>;

// Magnitudes of floats are ordered as their bits without the sign are; NaNs come last.
template <class T>
Bits<T> magnitude(T value) {
  return std::bit_cast<Bits<T>>(value) & (~Bits<T>{0} >> 1);
}

constexpr int kDigit = 11;  // bits told apart in a pass

struct Threshold {
  std::uint64_t bits = 0;  // magnitudes above it are among the largest
  std::int64_t ties = 0;   // and so many that equal it
};

// The k-th largest magnitude, digit by digit from the top: in each pass only the candidates count, which
// share all digits found so far.
template <class T>
Threshold find_threshold(const T* values, std::int64_t count, std::int64_t k) {
  constexpr int kWidth = static_cast<int>(8 * sizeof(T));
  Bits<T> prefix = 0;
  int known = kWidth;  // the prefix is what remains when so many bits are shifted out
  std::int64_t wanted = k;
  while (known > 0) {
    const int shift = known > kDigit ? known - kDigit : 0;
    std::array<std::int64_t, 1 << kDigit> histogram{};
    const Bits<T> mask = (Bits<T>{1} << (known - shift)) - 1;
    for (std::int64_t i = 0; i < count; ++i) {
      const Bits<T> bits = magnitude(values[i]);
      if (known == kWidth || (bits >> known) == prefix) ++histogram[(bits >> shift) & mask];
    }
    Bits<T> digit = mask;
    while (histogram[digit] < wanted) wanted -= histogram[digit--];
    prefix = (known == kWidth ? 0 : prefix << (known - shift)) | digit;
    known = shift;
  }
  return {prefix, wanted};
}

}  // namespace

template <class T>
std::vector<std::int32_t> select_largest(const T* values, std::int64_t count, std::int64_t k) {
  std::vector<std::int32_t> places;
  if (k == 0) return places;
  places.reserve(static_cast<std::size_t>(k));
  Threshold threshold = find_threshold(values, count, k);
  for (std::int64_t i = 0; i < count; ++i) {
    const Bits<T> bits = magnitude(values[i]);
    if (bits > threshold.bits || (bits == threshold.bits && threshold.ties-- > 0))
      places.push_back(static_cast<std::int32_t>(i));
  }
  return places;
}

template std::vector<std::int32_t> select_largest(const float*, std::int64_t, std::int64_t);
template std::vector<std::int32_t> select_largest(const double*, std::int64_t, std::int64_t);

}  // namespace ronde::inline v0
