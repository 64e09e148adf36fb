/// The vector type of the instruction set that this file is compiled for, by the compiler's own extension.
#pragma once

#include <cstdint>

namespace ronde::inline v0 {
namespace {

constexpr int kVectorBytes = RONDE_VECTOR_BYTES;
constexpr int kVectorRegisters = RONDE_VECTOR_REGISTERS;
constexpr int kLanes = kVectorBytes / 4;
constexpr int kCacheLine = 64 / 4;
constexpr int kSecondLevel = 2;  // of a prefetch: into the second level cache

typedef float Vector __attribute__((vector_size(kVectorBytes)));
typedef std::int32_t IntVector __attribute__((vector_size(kVectorBytes)));
typedef std::uint64_t WideVector __attribute__((vector_size(kVectorBytes)));
typedef std::uint16_t ShortVector __attribute__((vector_size(2 * kLanes)));
typedef std::uint8_t ByteVector __attribute__((vector_size(kLanes)));
// The same in memory: any alignment, any declared type.
typedef float UnalignedVector __attribute__((vector_size(kVectorBytes), aligned(4), may_alias));
typedef std::uint64_t UnalignedWide __attribute__((vector_size(kVectorBytes), aligned(4), may_alias));
typedef std::uint8_t UnalignedBytes __attribute__((vector_size(kLanes), aligned(1), may_alias));

inline Vector load(const float* p) {
  return *reinterpret_cast<const UnalignedVector*>(p);
}
inline void store(float* p, Vector v) {
  *reinterpret_cast<UnalignedVector*>(p) = v;
}
inline void store(std::uint32_t* p, WideVector v) {
  *reinterpret_cast<UnalignedWide*>(p) = v;
}
/// In two steps, each an instruction or a few: of one, GCC 12 makes two to four for each byte.
inline IntVector load_bytes(const std::uint8_t* p) {
  const ByteVector bytes = *reinterpret_cast<const UnalignedBytes*>(p);
  return __builtin_convertvector(__builtin_convertvector(bytes, ShortVector), IntVector);
}
/// Numbers below 256.
inline void store_bytes(std::uint8_t* p, IntVector v) {
  *reinterpret_cast<UnalignedBytes*>(p) =
      __builtin_convertvector(__builtin_convertvector(v, ShortVector), ByteVector);
}
inline Vector splat(float value) {
  return value - Vector{};
}
/// v where the mask is set, else 0.
inline Vector masked(IntVector mask, Vector v) {
  return reinterpret_cast<Vector>(reinterpret_cast<IntVector>(v) & mask);
}
/// a where the mask is set, else b.
inline Vector select(IntVector mask, Vector a, Vector b) {
  return reinterpret_cast<Vector>((reinterpret_cast<IntVector>(a) & mask) |
                                  (reinterpret_cast<IntVector>(b) & ~mask));
}
/// Set in the lanes from `first` on.
inline IntVector lanes_from(std::int64_t first) {
  alignas(64) static constexpr std::int32_t kNumbers[] = {0, 1, 2,  3,  4,  5,  6,  7,
                                                          8, 9, 10, 11, 12, 13, 14, 15};
  IntVector numbers;
  __builtin_memcpy(&numbers, kNumbers, sizeof numbers);
  return numbers >= static_cast<std::int32_t>(first) - IntVector{};
}
/// 0 ... n - 1 as a list, LanesTo<n>::List, for shuffles.
template <int... lane>
struct LaneList {};
template <int n, int... lane>
struct LanesTo : LanesTo<n - 1, n - 1, lane...> {};
template <int... lane>
struct LanesTo<0, lane...> {
  using List = LaneList<lane...>;
};
/// Calls f(k) for vectors that cover elements [0, n), at least one vector's; the last one may overlap the
/// one before it.
template <class F>
[[gnu::always_inline]] inline void cover(std::int64_t n, const F& f) {
  for (std::int64_t k = 0; k < n; k += kLanes) f(k + kLanes <= n ? k : n - kLanes);
}
/// The same for what may be done to an element only once: f(k, fresh), with the lanes that no vector before
/// had.
template <class F>
[[gnu::always_inline]] inline void cover_once(std::int64_t n, const F& f) {
  for (std::int64_t k = 0; k < n; k += kLanes) {
    const std::int64_t from = k + kLanes <= n ? k : n - kLanes;
    f(from, lanes_from(k - from));
  }
}
inline Vector positive_part(Vector v) {
  return masked(~(v <= Vector{}), v);  // a NaN stays one
}

}  // namespace
}  // namespace ronde::inline v0
