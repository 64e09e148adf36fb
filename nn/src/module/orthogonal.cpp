#include "module/orthogonal.h"

#include <algorithm>
#include <cmath>

#include <ronde/core/backend.h>
#include <ronde/core/thread_pool.h>

namespace ronde::inline v0 {

namespace {

// Vectors that are taken from each of the others while these are in the cache.
constexpr std::int64_t kBlock = 16;

double dot(const double* a, const double* b, std::int64_t length) {
  double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0;  // none waits for another
  std::int64_t i = 0;
  for (; i + 4 <= length; i += 4) {
    s0 += a[i] * b[i];
    s1 += a[i + 1] * b[i + 1];
    s2 += a[i + 2] * b[i + 2];
    s3 += a[i + 3] * b[i + 3];
  }
  for (; i < length; ++i) s0 += a[i] * b[i];
  return s0 + s1 + s2 + s3;
}

/// x without its parts along `count` vectors of length 1.
void take_parts(double* x, const double* vectors, std::int64_t count, std::int64_t length) {
  for (const double* one = vectors; one < vectors + count * length; one += length) {
    const double shared = dot(x, one, length);
    for (std::int64_t i = 0; i < length; ++i) x[i] -= shared * one[i];
  }
}

void make_length_one(double* x, std::int64_t length) {
  const double scale = 1.0 / std::sqrt(dot(x, x, length));
  for (std::int64_t i = 0; i < length; ++i) x[i] *= scale;
}

}  // namespace

void make_orthogonal(std::span<double> vectors, std::int64_t length) {
  const auto vector = [&](std::int64_t number) { return vectors.data() + number * length; };
  const std::int64_t count = length == 0 ? 0 : std::ssize(vectors) / length;
  const std::int64_t grain = (std::int64_t{1} << 14) / std::max<std::int64_t>(kBlock * length, 1) + 1;
  for (std::int64_t begin = 0; begin < count; begin += kBlock) {
    const std::int64_t end = std::min(begin + kBlock, count);
    for (std::int64_t i = begin; i < end; ++i) {
      take_parts(vector(i), vector(begin), i - begin, length);
      make_length_one(vector(i), length);
    }
    default_backend().threads().parallel_for(count - end, grain, [&](std::int64_t from, std::int64_t to) {
      for (std::int64_t i = from; i < to; ++i)
        take_parts(vector(end + i), vector(begin), end - begin, length);
    });
  }
}

}  // namespace ronde::inline v0
