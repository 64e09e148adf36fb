/// The transforms of Winograd's F(4x4, 3x3), one-dimensional ones and how two of them make a two-dimensional
/// one.
///
/// Interpolation points 0, 1, -1, 2, -2 and infinity. With d a 6x6 tile of the input, g a 3x3 filter and e a
/// 4x4 tile of the output's gradient, everything here comes from one form,
///     <e, y> = sum over the 36 points of (A e A^T) * (G g G^T) * (B^T d B),
/// whose three passes each leave another factor out:
///     forward           y  = A^T [(G g G^T) * (B^T d B)] A
///     gradient of d     dd = B   [(G g G^T) * (A e A^T)] B^T      6x6 results, which overlap and are added
///     up gradient of g     dg = G^T [sum over tiles (B^T d B) * (A e A^T)] G
/// Source: Lavin and Gray, Fast Algorithms for Convolutional Neural Networks (2015), arXiv 1509.09308.
#pragma once

#include "backend/onednn/kernels/vector.h"

namespace ronde::inline v0 {
namespace {

struct InputTransform {  // B^T
  static constexpr int kIn = 6, kOut = 6;
  static inline void apply(const Vector* d, Vector* t) {
    const Vector a = d[4] - 4.0f * d[2], b = d[3] - 4.0f * d[1], c = d[4] - d[2], s = d[3] - d[1];
    t[0] = (4.0f * d[0] + d[4]) - 5.0f * d[2];
    t[1] = a + b;
    t[2] = a - b;
    t[3] = c + 2.0f * s;
    t[4] = c - 2.0f * s;
    t[5] = (4.0f * d[1] + d[5]) - 5.0f * d[3];
  }
};

struct InputGradientTransform {  // B
  static constexpr int kIn = 6, kOut = 6;
  static inline void apply(const Vector* m, Vector* x) {
    const Vector p = m[1] + m[2], q = m[1] - m[2], r = m[3] + m[4], s = m[3] - m[4];
    x[0] = 4.0f * m[0];
    x[1] = 4.0f * (m[5] - q) - 2.0f * s;
    x[2] = (-r - 4.0f * p) - 5.0f * m[0];
    x[3] = (q + 2.0f * s) - 5.0f * m[5];
    x[4] = m[0] + p + r;
    x[5] = m[5];
  }
};

struct OutputTransform {  // A^T
  static constexpr int kIn = 6, kOut = 4;
  static inline void apply(const Vector* m, Vector* y) {
    const Vector p = m[1] + m[2], q = m[1] - m[2], r = m[3] + m[4], s = m[3] - m[4];
    y[0] = m[0] + p + r;
    y[1] = q + 2.0f * s;
    y[2] = p + 4.0f * r;
    y[3] = (q + 8.0f * s) + m[5];
  }
};

struct OutputGradientTransform {  // A
  static constexpr int kIn = 4, kOut = 6;
  static inline void apply(const Vector* y, Vector* z) {
    const Vector a = y[0] + y[2], b = y[1] + y[3], c = y[0] + 4.0f * y[2], d = y[1] + 4.0f * y[3];
    z[0] = y[0];
    z[1] = a + b;
    z[2] = a - b;
    z[3] = c + 2.0f * d;
    z[4] = c - 2.0f * d;
    z[5] = y[3];
  }
};

struct FilterTransform {  // G
  static constexpr int kIn = 3, kOut = 6;
  static inline void apply(const Vector* g, Vector* u) {
    const Vector s = (-1.0f / 6) * (g[0] + g[2]), r = (1.0f / 24) * g[0] + (1.0f / 6) * g[2];
    u[0] = 0.25f * g[0];
    u[1] = s - (1.0f / 6) * g[1];
    u[2] = s + (1.0f / 6) * g[1];
    u[3] = r + (1.0f / 12) * g[1];
    u[4] = r - (1.0f / 12) * g[1];
    u[5] = g[2];
  }
};

struct FilterGradientTransform {  // G^T
  static constexpr int kIn = 6, kOut = 3;
  static inline void apply(const Vector* m, Vector* g) {
    const Vector p = m[1] + m[2], q = m[2] - m[1], r = m[3] + m[4], s = m[3] - m[4];
    g[0] = 0.25f * m[0] + ((1.0f / 24) * r - (1.0f / 6) * p);
    g[1] = (1.0f / 12) * s + (1.0f / 6) * q;
    g[2] = (1.0f / 6) * (r - p) + m[5];
  }
};

// `read(i, j)` gives the vector in row i, column j; `write(i, j, value)` takes the result's.
template <class Transform, class Read, class Write>
[[gnu::always_inline]] inline void transform_tile(const Read& read, const Write& write) {
  constexpr int kIn = Transform::kIn, kOut = Transform::kOut;
  Vector half[kOut][kIn];
#pragma GCC unroll 6
  for (int j = 0; j < kIn; ++j) {
    Vector column[kIn], result[kOut];
#pragma GCC unroll 6
    for (int i = 0; i < kIn; ++i) column[i] = read(i, j);
    Transform::apply(column, result);
#pragma GCC unroll 6
    for (int i = 0; i < kOut; ++i) half[i][j] = result[i];
  }
#pragma GCC unroll 6
  for (int i = 0; i < kOut; ++i) {
    Vector result[kOut];
    Transform::apply(half[i], result);
#pragma GCC unroll 6
    for (int j = 0; j < kOut; ++j) write(i, j, result[j]);
  }
}

}  // namespace
}  // namespace ronde::inline v0
