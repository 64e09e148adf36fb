#include "reduction.h"

#include <algorithm>
#include <array>
#include <type_traits>

namespace ronde::inline v0 {
namespace {

constexpr std::int64_t kBlock = 1024;  // elements reduced at a time, on the stack

// What sums of T are kept in.
template <class T>
using Accumulator = std::conditional_t<std::is_same_v<T, bfloat16>, float, T>;

// Integers wrap around, as they do in MPI; in unsigned arithmetic, where that is defined.
template <class A, class F>
A wrapping(A a, A b, F f) {
  if constexpr (std::is_integral_v<A>) {
    using Wide = std::uint64_t;
    return static_cast<A>(f(static_cast<Wide>(a), static_cast<Wide>(b)));
  } else {
    return f(a, b);
  }
}

template <class A>
A combine(A a, A b, Reduction op) {
  switch (op) {
    case Reduction::min:
      return b < a ? b : a;
    case Reduction::max:
      return a < b ? b : a;
    case Reduction::product:
      return wrapping(a, b, [](auto x, auto y) { return x * y; });
    case Reduction::sum:
    case Reduction::average:
      break;
  }
  return wrapping(a, b, [](auto x, auto y) { return x + y; });
}

template <class T>
void reduce_block(const std::vector<void*>& outs, std::int64_t out_begin, const std::vector<const void*>& ins,
                  std::int64_t begin, std::int64_t count, Reduction op) {
  using A = Accumulator<T>;
  std::array<A, kBlock> sums;
  const auto n = static_cast<std::size_t>(count);
  for (std::size_t k = 0; k < ins.size(); ++k) {
    const T* in = static_cast<const T*>(ins[k]) + begin;
    for (std::size_t i = 0; i < n; ++i) {
      const A value = static_cast<A>(in[i]);
      sums[i] = k == 0 ? value : combine(sums[i], value, op);
    }
  }
  if constexpr (std::is_floating_point_v<A>) {
    const A divisor = op == Reduction::average ? static_cast<A>(ins.size()) : A{1};
    for (std::size_t i = 0; i < n; ++i) sums[i] /= divisor;
  }
  for (void* out : outs) {
    T* to = static_cast<T*>(out) + out_begin;
    for (std::size_t i = 0; i < n; ++i) to[i] = static_cast<T>(sums[i]);
  }
}

}  // namespace

void reduce(const std::vector<void*>& outs, std::int64_t out_begin, const std::vector<const void*>& ins,
            std::int64_t begin, std::int64_t end, DType dtype, Reduction op) {
  visit_dtype(dtype, [&](auto tag) {
    for (std::int64_t i = begin; i < end; i += kBlock) {
      reduce_block<decltype(tag)>(outs, out_begin + (i - begin), ins, i, std::min(kBlock, end - i), op);
    }
  });
}

void divide(void* data, std::int64_t count, DType dtype, int divisor) {
  visit_dtype(dtype, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_floating_point_v<T>) {
      T* values = static_cast<T*>(data);
      for (std::int64_t i = 0; i < count; ++i) values[i] /= static_cast<T>(divisor);
    }
  });
}

}  // namespace ronde::inline v0
