#include <ronde/core/random.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>

#include <ronde/core/backend.h>
#include <ronde/core/cuda.h>
#include <ronde/core/philox.h>
#include <ronde/core/thread_pool.h>
#include <ronde/core/whole_numbers.h>

#include "backend/onednn/kernels/transcendental.h"

// Loops over counters that lie side by side, which a compiler vectorises: 3 to 4 ns a number with SSE2 alone,
// where philox() and the mathematical library's log and cos take ten times as long. Products and sums are not
// contracted (CMakeLists.txt), so all processors round alike.

namespace ronde::inline v0 {
namespace {

constexpr std::int64_t kCounters = 32;            // drawn at once
constexpr std::int64_t kNumbers = 4 * kCounters;  // that they give
constexpr std::int64_t kGrain = 32;               // such pieces for a thread
constexpr std::uint64_t kNoEpoch = 0xFFFFFFFFu;   // of numbers that belong to no sample

/// Words of one kind side by side: word[j][i] is word j of counter i.
using Words = std::array<std::array<std::uint32_t, kCounters>, 4>;
using Numbers = std::array<std::array<float, kCounters>, 4>;

struct Stream {
  std::uint64_t key, sample, epoch;
};

/// sample_bits(key, sample, epoch, block + i) for all i.
Words draw(const Stream& stream, std::uint64_t block) {
  Words w;
  for (std::size_t i = 0; i < kCounters; ++i) {
    w[0][i] = static_cast<std::uint32_t>(block + i);
    w[1][i] = static_cast<std::uint32_t>(stream.sample);
    w[2][i] = static_cast<std::uint32_t>(stream.sample >> 32);
    w[3][i] = static_cast<std::uint32_t>(stream.epoch);
  }
  auto k0 = static_cast<std::uint32_t>(stream.key), k1 = static_cast<std::uint32_t>(stream.key >> 32);
  for (int round = 0; round < 10; ++round) {
    for (std::size_t i = 0; i < kCounters; ++i) {
      const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * w[0][i],
                          p1 = std::uint64_t{0xCD9E8D57u} * w[2][i];
      const auto high0 = static_cast<std::uint32_t>(p0 >> 32), high1 = static_cast<std::uint32_t>(p1 >> 32);
      w[0][i] = high1 ^ w[1][i] ^ k0;
      w[1][i] = static_cast<std::uint32_t>(p1);
      w[2][i] = high0 ^ w[3][i] ^ k1;
      w[3][i] = static_cast<std::uint32_t>(p0);
    }
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return w;
}

std::uint32_t bits_of(float x) {
  return std::bit_cast<std::uint32_t>(x);
}

struct Pair {
  float a, b;
};

/// Two normal numbers of two words. Source: Box, Muller, "A note on the generation of random normal
/// deviates", 1958: a radius sqrt(-2 ln u) and an angle. The angle is one of four quarters and a rest of it
/// within 45 degrees, for which Taylor's polynomials do.
inline Pair box_muller(std::uint32_t radius_bits, std::uint32_t angle_bits) {
  const float u = (static_cast<float>(static_cast<std::int32_t>(radius_bits >> 1)) + 0.5f) * 0x1p-31f;
  const float radius = std::sqrt(-2.0f * log_of_normal(u));
  const std::uint32_t quarter = angle_bits >> 30;
  const auto of_quarter = static_cast<float>(static_cast<std::int32_t>((angle_bits << 2) >> 8));
  const float t = (of_quarter - (0x1p23f - 0.5f)) * (std::numbers::pi_v<float> / 2 * 0x1p-24f), z = t * t;
  float s = 1.0f / 362880;
  s = s * z - 1.0f / 5040;
  s = s * z + 1.0f / 120;
  s = s * z - 1.0f / 6;
  const float sine = t + t * z * s;
  float c = 1.0f / 40320;
  c = c * z - 1.0f / 720;
  c = c * z + 1.0f / 24;
  c = c * z - 0.5f;
  const float cosine = 1.0f + z * c;
  // By quarters (cos, sin) is (c, s), (-s, c), (-c, -s), (s, -c): masks, not branches.
  const std::uint32_t odd = 0u - (quarter & 1), x = (bits_of(cosine) & ~odd) | (bits_of(sine) & odd);
  const std::uint32_t y = (bits_of(sine) & ~odd) | (bits_of(cosine) & odd);
  const std::uint32_t sign_x = ((quarter + 1) & 2) << 30, sign_y = (quarter & 2) << 30;
  return {radius * std::bit_cast<float>(x ^ sign_x), radius * std::bit_cast<float>(y ^ sign_y)};
}

struct Normal {
  static void make(Numbers& to, const Words& words) {
    for (std::size_t j = 0; j < 4; j += 2)
      for (std::size_t i = 0; i < kCounters; ++i) {
        const Pair pair = box_muller(words[j][i], words[j + 1][i]);
        to[j][i] = pair.a;
        to[j + 1][i] = pair.b;
      }
  }
};

struct Uniform {
  static void make(Numbers& to, const Words& words) {
    for (std::size_t j = 0; j < 4; ++j)
      for (std::size_t i = 0; i < kCounters; ++i)  // as a signed number, which hardware converts
        to[j][i] = static_cast<float>(static_cast<std::int32_t>(words[j][i] >> 8)) * 0x1p-24f;
  }
};

/// `count` numbers of a row, from a piece's first on.
template <class Distribution>
void fill_piece(float* to, std::int64_t count, const Stream& stream, std::int64_t piece) {
  Numbers numbers;
  Distribution::make(numbers, draw(stream, static_cast<std::uint64_t>(piece * kCounters)));
  std::array<float, kNumbers> in_order;
  for (std::size_t i = 0; i < kCounters; ++i)
    for (std::size_t j = 0; j < 4; ++j) in_order[4 * i + j] = numbers[j][i];
  std::copy_n(in_order.data(), count, to);
}

void check(const Shape& shape, const RandomOptions& options) {
  require(is_floating(options.dtype), "[random] expects a floating dtype, got ", options.dtype);
  const Tensor& keys = options.sample_keys;
  if (!keys.defined()) return;
  require(shape.rank() >= 1 && keys.dtype() == DType::i64 && keys.shape() == Shape{shape[0], 2},
          "[random] sample keys of ", shape, " must be i64 (n, 2), n being its first extent, got ", keys);
}

template <class Distribution>
Tensor random(const Shape& shape, const RandomOptions& options) {
  check(shape, options);
  const Tensor out = Tensor::empty(shape);
  Tensor keys;
  if (options.sample_keys.defined()) keys = on_host(options.sample_keys).contiguous();
  const std::int64_t rows = keys.defined() ? shape[0] : 1, length = rows == 0 ? 0 : out.count() / rows;
  require(length / 4 < std::numeric_limits<std::uint32_t>::max(), "[random] ", shape,
          " has too many elements");
  const std::uint64_t key =
      random_key(random_key(options.seed, hash_name(options.name)), static_cast<std::uint64_t>(options.step));
  const std::int64_t pieces = ceil_divide(length, kNumbers);
  out.backend().threads().parallel_for(rows * pieces, kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t row = i / pieces, piece = i % pieces;
      Stream stream{key, 0, kNoEpoch};
      if (keys.defined()) {
        const std::int64_t* of_row = keys.data<std::int64_t>() + 2 * row;
        stream = {key, static_cast<std::uint64_t>(of_row[0]), static_cast<std::uint64_t>(of_row[1])};
      }
      fill_piece<Distribution>(out.data<float>() + row * length + piece * kNumbers,
                               std::min(kNumbers, length - piece * kNumbers), stream, piece);
    }
  });
  const Tensor typed = out.to(options.dtype);
  return options.backend ? typed.to(*options.backend) : typed;
}

}  // namespace

Tensor random_normal(const Shape& shape, const RandomOptions& options) {
  return random<Normal>(shape, options);
}

Tensor random_uniform(const Shape& shape, const RandomOptions& options) {
  return random<Uniform>(shape, options);
}

}  // namespace ronde::inline v0
