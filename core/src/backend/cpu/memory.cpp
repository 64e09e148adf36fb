// fill and copy: any dtype, any strides.
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <type_traits>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/strided.h"

namespace ronde::inline v0 {

namespace {

// Truncates a real number to an integer; what does not fit becomes the nearest limit, NaN becomes 0.
template <class To>
To truncate(double value) {
  constexpr auto kLow = std::numeric_limits<To>::min(), kHigh = std::numeric_limits<To>::max();
  if (std::isnan(value)) return 0;
  if (value <= static_cast<double>(kLow)) return kLow;
  if (value >= static_cast<double>(kHigh)) return kHigh;
  return static_cast<To>(value);
}

template <class To, class From>
To convert(From value) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (std::is_same_v<From, bfloat16>) {
    return convert<To>(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, bfloat16>) {
    return bfloat16(static_cast<float>(value));
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    return truncate<To>(static_cast<double>(value));
  } else {
    return static_cast<To>(value);
  }
}

/// All bytes of a contiguous tensor, four to ten times as fast as its elements one by one.
void clear(ThreadPool& threads, const Tensor& out) {
  constexpr std::int64_t kGrain = std::int64_t{1} << 18;  // bytes
  auto* const bytes = static_cast<std::byte*>(out.raw());
  threads.parallel_for(static_cast<std::int64_t>(out.byte_size()), kGrain,
                       [&](std::int64_t begin, std::int64_t end) {
                         std::memset(bytes + begin, 0, static_cast<std::size_t>(end - begin));
                       });
}

}  // namespace

void CpuBackend::fill(const Tensor& out, double value) {
  if (value == 0.0 && !std::signbit(value) && out.is_contiguous()) return clear(threads_, out);
  visit_dtype(out.dtype(), [&]<class T>(T) {
    const T element = convert<T>(value);
    for_each_element(
        threads_, out.shape(), [element](T& y) { y = element; }, view<T>(out));
  });
}

void CpuBackend::copy(const Tensor& out, const Tensor& x) {
  visit_dtype(out.dtype(), [&]<class To>(To) {
    visit_dtype(x.dtype(), [&]<class From>(From) {
      for_each_element(
          threads_, out.shape(), [](To& y, const From& value) { y = convert<To>(value); }, view<To>(out),
          view<From>(x));
    });
  });
}

}  // namespace ronde::inline v0
