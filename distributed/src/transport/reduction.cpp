#include "transport/reduction.h"

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

// Calls f with the function that combines two values.
template <class A, class F>
void with_combination(Reduction op, F&& f) {
  switch (op) {
    // A NaN stays, whichever rank has it: it is the only value that is not equal to itself.
    case Reduction::min:
      return f([](A a, A b) { return b < a || b != b ? b : a; });
    case Reduction::max:
      return f([](A a, A b) { return a < b || b != b ? b : a; });
    case Reduction::product:
      return f([](A a, A b) { return wrapping(a, b, [](auto x, auto y) { return x * y; }); });
    case Reduction::sum:
    case Reduction::average:
      break;
  }
  f([](A a, A b) { return wrapping(a, b, [](auto x, auto y) { return x + y; }); });
}

// Each loop runs over memory that the compiler knows to be apart, so that it can use vectors: sums are on the
// stack, and an `out` may be an `in`.
template <class T>
void reduce_block(const std::vector<void*>& outs, std::int64_t out_begin, const std::vector<const void*>& ins,
                  std::int64_t begin, std::int64_t count, Reduction op) {
  using A = Accumulator<T>;
  alignas(64) std::array<A, kBlock> sums;
  const auto n = static_cast<std::size_t>(count);
  const auto in = [&](std::size_t k) { return static_cast<const T*>(ins[k]) + begin; };
  with_combination<A>(op, [&](auto combine) {
    const T* first = in(0);
    if (ins.size() == 1) {
      for (std::size_t i = 0; i < n; ++i) sums[i] = static_cast<A>(first[i]);
    } else {
      const T* second = in(1);
      for (std::size_t i = 0; i < n; ++i)
        sums[i] = combine(static_cast<A>(first[i]), static_cast<A>(second[i]));
    }
    for (std::size_t k = 2; k < ins.size(); ++k) {
      const T* next = in(k);
      for (std::size_t i = 0; i < n; ++i) sums[i] = combine(sums[i], static_cast<A>(next[i]));
    }
  });
  if constexpr (std::is_floating_point_v<A>) {
    if (op == Reduction::average) {
      for (std::size_t i = 0; i < n; ++i) sums[i] /= static_cast<A>(ins.size());
    }
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

void widen(const void* values, std::int64_t count, float* wide) {
  const auto* from = static_cast<const bfloat16*>(values);
  std::transform(from, from + count, wide, [](bfloat16 x) { return static_cast<float>(x); });
}

void narrow(const float* wide, std::int64_t count, void* values) {
  std::transform(wide, wide + count, static_cast<bfloat16*>(values), [](float x) { return bfloat16(x); });
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

void scale(void* data, std::int64_t count, DType dtype, double factor) {
  if (factor == 1.0) return;
  visit_dtype(dtype, [&](auto tag) {
    using A = Accumulator<decltype(tag)>;
    if constexpr (std::is_floating_point_v<A>) {
      auto* values = static_cast<decltype(tag)*>(data);
      for (std::int64_t i = 0; i < count; ++i)
        values[i] = static_cast<decltype(tag)>(static_cast<A>(values[i]) * static_cast<A>(factor));
    }
  });
}

}  // namespace ronde::inline v0
