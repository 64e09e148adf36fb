/// The transforms of Winograd's F(m x m, 3x3), one-dimensional ones and how two of them make a
/// two-dimensional one.
///
/// With n = m + 2, d an n x n tile of the input, g a 3x3 filter and e an m x m tile of the output's gradient,
/// everything here comes from one form,
///     <e, y> = sum over the n * n points of (A e A^T) * (G g G^T) * (B^T d B),
/// whose three passes each leave another factor out:
///     forward           y  = A^T [(G g G^T) * (B^T d B)] A
///     gradient of d     dd = B   [(G g G^T) * (A e A^T)] B^T      n x n results, which overlap and are added
///     up gradient of g     dg = G^T [sum over tiles (B^T d B) * (A e A^T)] G
/// The interpolation points are infinity, pairs +p and -p, and 0 where m is even. N(x) being the product of
/// (x - a) over all finite points a, the rows of these matrices at a are
///     A    1, a, a^2, ...       G    (1, a, a^2) / N'(a)       B^T    the coefficients of N(x) / (x - a)
/// and at infinity the last power alone, or those of N(x). Both points of a pair share the even and the odd
/// powers of their rows, which is why there are pairs.
/// Source: Lavin and Gray, Fast Algorithms for Convolutional Neural Networks (2015), arXiv 1509.09308;
/// Blahut, Fast Algorithms for Signal Processing (2010), chapter 5 (Cook and Toom).
#pragma once

#include "backend/onednn/kernels/vector.h"

namespace ronde::inline v0 {
namespace {

// Note [Interpolation points]
// Which points there are decides how much is rounded: of those tried (simple fractions up to 4), these had
// the smallest errors; F(5x5) has those of F(4x4), F(6x6) up to twice as much.
template <int m>
struct Pairs;
template <>
struct Pairs<4> {
  static constexpr double p[] = {1, 2};
};
template <>
struct Pairs<5> {
  static constexpr double p[] = {1, 2, 0.25};
};
template <>
struct Pairs<6> {
  static constexpr double p[] = {1, 2, 0.5};
};

// The numbers in the matrices. The points lie in the order 0 (if there), p0, -p0, p1, -p1, ..., infinity.
template <int m>
struct Points {
  static constexpr int kCount = m + 2;
  static constexpr int kZero = m % 2 == 0 ? 1 : 0;  // points at 0
  static constexpr int kPairs = (kCount - 1 - kZero) / 2;
  static constexpr int kInfinity = kCount - 1;
  static constexpr int plus(int pair) { return kZero + 2 * pair; }
  static constexpr int minus(int pair) { return plus(pair) + 1; }

  float power[kPairs][m];            // p^j
  float all[kPairs + 1];             // coefficients of x^2k in the product of (x^2 - p^2) over all pairs
  float others[kPairs][kPairs + 1];  // the same over all pairs but one; the last one is 0
  float weight[kPairs][3];           // p^j / N'(p)
  float weight_of_zero;              // 1 / N'(0)

  constexpr Points() {
    product(all, -1);
    weight_of_zero = 1 / all[0];
    for (int pair = 0; pair < kPairs; ++pair) {
      const double p = Pairs<m>::p[pair];
      product(others[pair], pair);
      double slope = kZero ? 2 * p * p : 2 * p, power_of_p = 1;
      for (int other = 0; other < kPairs; ++other)
        if (other != pair) slope *= p * p - Pairs<m>::p[other] * Pairs<m>::p[other];
      for (int j = 0; j < m; ++j, power_of_p *= p) {
        power[pair][j] = static_cast<float>(power_of_p);
        if (j < 3) weight[pair][j] = static_cast<float>(power_of_p / slope);
      }
    }
  }

 private:
  static constexpr void product(float* coefficients, int without) {
    double c[kPairs + 1] = {1};
    for (int pair = 0; pair < kPairs; ++pair) {
      if (pair == without) continue;
      const double p = Pairs<m>::p[pair];
      for (int k = kPairs; k >= 0; --k) c[k] = (k > 0 ? c[k - 1] : 0) - p * p * c[k];
    }
    for (int k = 0; k <= kPairs; ++k) coefficients[k] = static_cast<float>(c[k]);
  }
};

template <int m>
constexpr Points<m> kPoints;

// Sum over k of factors[k] values[2k], from the last one down, whose factor often is 1.
template <int terms>
[[gnu::always_inline]] inline Vector every_other(const float* factors, const Vector* values) {
  Vector sum = factors[terms - 1] * values[2 * terms - 2];
#pragma GCC unroll 8
  for (int k = terms - 2; k >= 0; --k) sum += factors[k] * values[2 * k];
  return sum;
}

template <int m>
struct InputTransform {  // B^T; where no point is 0, the rows at -p have the other sign, as have those of G
  using P = Points<m>;
  static constexpr int kIn = P::kCount, kOut = P::kCount;
  [[gnu::always_inline]] static inline void apply(const Vector* d, Vector* t) {
    constexpr int kZero = P::kZero, kPairs = P::kPairs;
    if constexpr (kZero) t[0] = every_other<kPairs + 1>(kPoints<m>.all, d);
    t[P::kInfinity] = every_other<kPairs + 1>(kPoints<m>.all, d + kZero);
#pragma GCC unroll 8
    for (int i = 0; i < kPairs; ++i) {
      const Vector even = every_other<kPairs>(kPoints<m>.others[i], d + kZero + 1);
      const Vector odd = every_other<kPairs>(kPoints<m>.others[i], d + kZero);
      const float p = kPoints<m>.power[i][1];
      t[P::plus(i)] = even + p * odd;
      t[P::minus(i)] = kZero ? even - p * odd : p * odd - even;
    }
  }
};

template <int m>
struct InputGradientTransform {  // B
  using P = Points<m>;
  static constexpr int kIn = P::kCount, kOut = P::kCount;
  [[gnu::always_inline]] static inline void apply(const Vector* t, Vector* d) {
    constexpr int kZero = P::kZero, kPairs = P::kPairs;
    Vector even[kPairs], odd[kPairs];
#pragma GCC unroll 8
    for (int i = 0; i < kPairs; ++i) {
      const Vector sum = t[P::plus(i)] + t[P::minus(i)], difference = t[P::plus(i)] - t[P::minus(i)];
      even[i] = kZero ? sum : difference;
      odd[i] = kPoints<m>.power[i][1] * (kZero ? difference : sum);
    }
#pragma GCC unroll 8
    for (int k = 0; k <= kPairs; ++k) {
      Vector sum = kPoints<m>.all[k] * t[P::kInfinity];
      if (k < kPairs) sum += combined(k, odd);
      d[kZero + 2 * k] = sum;
    }
#pragma GCC unroll 8
    for (int k = 0; k < kPairs; ++k) d[kZero + 2 * k + 1] = combined(k, even);
    if constexpr (kZero)
#pragma GCC unroll 8
      for (int k = 0; k <= kPairs; ++k) {
        const Vector term = kPoints<m>.all[k] * t[0];
        d[2 * k] = k == 0 ? term : d[2 * k] + term;
      }
  }

 private:
  [[gnu::always_inline]] static inline Vector combined(int k, const Vector* of) {
    Vector sum = kPoints<m>.others[0][k] * of[0];
#pragma GCC unroll 8
    for (int i = 1; i < P::kPairs; ++i) sum += kPoints<m>.others[i][k] * of[i];
    return sum;
  }
};

template <int m>
struct OutputTransform {  // A^T
  using P = Points<m>;
  static constexpr int kIn = P::kCount, kOut = m;
  [[gnu::always_inline]] static inline void apply(const Vector* t, Vector* y) {
    Vector sum[P::kPairs], difference[P::kPairs];
#pragma GCC unroll 8
    for (int i = 0; i < P::kPairs; ++i) {
      sum[i] = t[P::plus(i)] + t[P::minus(i)];
      difference[i] = t[P::plus(i)] - t[P::minus(i)];
    }
#pragma GCC unroll 8
    for (int j = 0; j < m; ++j) {
      const Vector* of = j % 2 == 0 ? sum : difference;
      y[j] = kPoints<m>.power[0][j] * of[0];
#pragma GCC unroll 8
      for (int i = 1; i < P::kPairs; ++i) y[j] += kPoints<m>.power[i][j] * of[i];
    }
    if constexpr (P::kZero) y[0] += t[0];
    y[m - 1] += t[P::kInfinity];
  }
};

template <int m>
struct OutputGradientTransform {  // A
  using P = Points<m>;
  static constexpr int kIn = m, kOut = P::kCount;
  [[gnu::always_inline]] static inline void apply(const Vector* y, Vector* t) {
    constexpr int kEven = (m + 1) / 2, kOdd = m / 2;
    if constexpr (P::kZero) t[0] = y[0];
    t[P::kInfinity] = y[m - 1];
#pragma GCC unroll 8
    for (int i = 0; i < P::kPairs; ++i) {
      Vector even = y[0], odd = kPoints<m>.power[i][1] * y[1];
#pragma GCC unroll 8
      for (int k = 1; k < kEven; ++k) even += kPoints<m>.power[i][2 * k] * y[2 * k];
#pragma GCC unroll 8
      for (int k = 1; k < kOdd; ++k) odd += kPoints<m>.power[i][2 * k + 1] * y[2 * k + 1];
      t[P::plus(i)] = even + odd;
      t[P::minus(i)] = even - odd;
    }
  }
};

template <int m>
struct FilterTransform {  // G
  using P = Points<m>;
  static constexpr int kIn = 3, kOut = P::kCount;
  [[gnu::always_inline]] static inline void apply(const Vector* g, Vector* u) {
    if constexpr (P::kZero) u[0] = kPoints<m>.weight_of_zero * g[0];
    u[P::kInfinity] = g[2];
#pragma GCC unroll 8
    for (int i = 0; i < P::kPairs; ++i) {
      const float* weight = kPoints<m>.weight[i];
      const Vector even = weight[0] * g[0] + weight[2] * g[2];
      u[P::plus(i)] = even + weight[1] * g[1];
      u[P::minus(i)] = even - weight[1] * g[1];
    }
  }
};

template <int m>
struct FilterGradientTransform {  // G^T
  using P = Points<m>;
  static constexpr int kIn = P::kCount, kOut = 3;
  [[gnu::always_inline]] static inline void apply(const Vector* u, Vector* g) {
    g[0] = P::kZero ? kPoints<m>.weight_of_zero * u[0] : Vector{};
    g[1] = Vector{};
    g[2] = u[P::kInfinity];
#pragma GCC unroll 8
    for (int i = 0; i < P::kPairs; ++i) {
      const float* weight = kPoints<m>.weight[i];
      const Vector sum = u[P::plus(i)] + u[P::minus(i)];
      g[0] += weight[0] * sum;
      g[1] += weight[1] * (u[P::plus(i)] - u[P::minus(i)]);
      g[2] += weight[2] * sum;
    }
  }
};

// `read(i, j)` gives the vector in row i, column j; `write(i, j, value)` takes the result's.
template <class Transform, class Read, class Write>
[[gnu::always_inline]] inline void transform_tile(const Read& read, const Write& write) {
  constexpr int kIn = Transform::kIn, kOut = Transform::kOut;
  Vector half[kOut][kIn];
#pragma GCC unroll 8
  for (int j = 0; j < kIn; ++j) {
    Vector column[kIn], result[kOut];
#pragma GCC unroll 8
    for (int i = 0; i < kIn; ++i) column[i] = read(i, j);
    Transform::apply(column, result);
#pragma GCC unroll 8
    for (int i = 0; i < kOut; ++i) half[i][j] = result[i];
  }
#pragma GCC unroll 8
  for (int i = 0; i < kOut; ++i) {
    Vector result[kOut];
    Transform::apply(half[i], result);
#pragma GCC unroll 8
    for (int j = 0; j < kOut; ++j) write(i, j, result[j]);
  }
}

// Calls f<m>() for tiles of m x m.
template <class F>
inline void with_tile(int m, const F& f) {
  if (m == 4) return f.template operator()<4>();
  if (m == 5) return f.template operator()<5>();
  f.template operator()<6>();
}

}  // namespace
}  // namespace ronde::inline v0
