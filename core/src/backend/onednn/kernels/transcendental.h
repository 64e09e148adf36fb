/// Functions that the elementwise loops need and hardware does not have, written so that a compiler can
/// vectorise loops of them. A NaN stays one.
#pragma once

namespace ronde::inline v0 {
namespace {

constexpr float kLowestExp = -87.33654f, kHighestExp = 88.72283f, kHighestPower = 88.02969f;  // ln 2^127
constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer

inline float clamped(float x, float lowest, float highest) {
  return x < lowest ? lowest : (x > highest ? highest : x);
}

// e^r - 1 with r = x - k * ln 2, |r| <= ln 2 / 2, by its Taylor polynomial.
inline float expm1_of_rest(float x, float k) {
  const float r = (x - k * 0.693145752f) - k * 1.42860677e-6f;
  float p = 1.0f / 5040;
  p = p * r + 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  return p * r;
}

// e^x = scale_a * scale_b * (1 + rest): 2^k in two factors, as k may be 128, and what is left.
struct ExpParts {
  float scale_a, scale_b, rest;
};

inline ExpParts exp_parts(float x) {
  const float inside = clamped(x, kLowestExp, kHighestExp);
  const float k = (inside * 1.44269504f + kRound) - kRound;
  const int whole = x == x ? static_cast<int>(k) : 0, half = whole / 2;
  return {__builtin_bit_cast(float, (half + 127) << 23),
          __builtin_bit_cast(float, (whole - half + 127) << 23), expm1_of_rest(inside, k)};
}

// e^x to 2 units in the last place where it is a normal number of at most 2^127, and beyond what it is at
// these limits: half of the work.
inline float clamped_exp_of(float x) {
  const float inside = clamped(x, kLowestExp, kHighestPower);
  const float rounded = inside * 1.44269504f + kRound;  // k is in its low bits
  const float scale = __builtin_bit_cast(float, (__builtin_bit_cast(unsigned, rounded) << 23) + 0x3f800000u);
  return scale * expm1_of_rest(inside, rounded - kRound) + scale;
}

// To 2 units in the last place. Results below the smallest normal number become 0.
inline float exp_of(float x) {
  const ExpParts e = exp_parts(x);
  const float y = (e.rest + 1.0f) * e.scale_a * e.scale_b;
  return x < kLowestExp ? 0.0f : (x > kHighestExp ? __builtin_inff() : (x == x ? y : x));
}

// The same for x <= 0, in half of the work.
inline float exp_of_negative(float x) {
  return x < kLowestExp ? 0.0f : clamped_exp_of(x);
}

// e^x - 1 for x <= 0, to 3 units in the last place.
inline float expm1_of(float x) {
  const ExpParts e = exp_parts(x);
  const float scale = e.scale_a * e.scale_b, y = scale * e.rest + (scale - 1.0f);
  return x < kLowestExp ? -1.0f : (x == x ? y : x);
}

inline float tanh_of(float x) {
  const float e = expm1_of(-2.0f * __builtin_fabsf(x));
  return __builtin_copysignf(e / (2.0f + e), x);
}

// 0 where it is no normal number.
inline float logistic(float x) {
  return x < -kHighestPower ? 0.0f : 1.0f / (1.0f + clamped_exp_of(-x));
}

// log(1 + f) = 2 artanh(s) = f - s * (f - r) with s = f / (2 + f) and r = 2 s^2 / 3 + 2 s^4 / 5 + ..., the
// first `terms` of these.
template <int terms>
inline float log1p_of(float f) {
  const float s = f / (2.0f + f), z = s * s;
  float r = 2.0f / (2 * terms + 1);
#pragma GCC unroll 8
  for (int i = terms - 1; i > 0; --i) r = r * z + 2.0f / static_cast<float>(2 * i + 1);
  return f - s * (f - r * z);
}

// Of a finite x above 0 that is no denormal, times 2^-halvings; to 2 units in the last place. x = 2^k * (1 +
// f) with 1 + f between sqrt(1/2) and sqrt(2).
inline float log_of_normal(float x, int halvings = 0) {
  const int above = static_cast<int>(__builtin_bit_cast(unsigned, x) - 0x3f3504f3u);
  const float k = static_cast<float>((above >> 23) - halvings);
  const float f = __builtin_bit_cast(float, (above & 0x7fffff) + 0x3f3504f3) - 1.0f;
  return k * 0.693145752f + (log1p_of<4>(f) + k * 1.42860677e-6f);
}

inline float log_of(float x) {
  constexpr float kLeastNormal = 1.17549435e-38f, kTwoTo23 = 8388608.0f;
  const bool is_small = x < kLeastNormal;
  const float y = log_of_normal(is_small ? x * kTwoTo23 : x, is_small ? 23 : 0);
  const float otherwise = x == 0 ? -__builtin_inff() : (x < 0 ? __builtin_nanf("") : x);  // infinite, a NaN
  return x > 0 && x < __builtin_inff() ? y : otherwise;
}

// log(1 + e^x), to 3 units in the last place; 0 where e^x is no normal number.
inline float softplus_of(float x) {
  const float rest = log1p_of<8>(exp_of_negative(-__builtin_fabsf(x)));
  return x > 0 ? x + rest : (x == x ? rest : x);
}

// Of the standard normal distribution.
struct NormalCdf {
  float value, density;
};

// 1 - value = erfc(a) / 2 with a = x / sqrt(2), and erfc(a) = e^(-a^2) * P(t) for a >= 0, where P is a
// polynomial in t = 1 / (1 + 0.4 a), fitted for a in [0, 9.4] to a relative error of 3e-8.
inline NormalCdf normal_cdf(float x) {
  const float a = __builtin_fabsf(x) * 0.707106781f;
  const float t = 1.0f / (1.0f + 0.4f * a), e = exp_of_negative(x * x * -0.5f);
  float p = 0.0265704039f;
  p = p * t - 0.0633611456f;
  p = p * t - 0.0900856331f;
  p = p * t + 0.310471774f;
  p = p * t - 0.0969697163f;
  p = p * t + 0.283643663f;
  p = p * t + 0.172310546f;
  p = p * t + 0.232432395f;
  p = p * t + 0.22495482f;
  p = p * t + 3.28897622e-5f;
  const float beyond = 0.5f * p * e;
  return {x > 0 ? 1.0f - beyond : beyond, e * 0.398942280f};
}

}  // namespace
}  // namespace ronde::inline v0
