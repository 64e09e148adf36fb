/// Tiles as `kernels/tiles_amx.h` has them, in memory: what the instructions of AMX do, for processors
/// without.
#pragma once

#include <cstdint>

#include "backend/onednn/kernels/bfloat16_loops.h"
#include "backend/onednn/kernels/tile_shape.h"

namespace ronde::inline v0 {
namespace {

class Tiles {
 public:
  Tiles() { memory().is_configured = true; }
  ~Tiles() { memory() = {}; }
  Tiles(const Tiles&) = delete;
  Tiles& operator=(const Tiles&) = delete;

  template <int tile>
  void clear() const {
    row<tile>(0);
    memory().tiles[tile] = {};
  }
  template <int tile>
  void load(const void* from, std::int64_t pitch) const {
    for (int r = 0; r < 16; ++r)
      __builtin_memcpy(row<tile>(r), static_cast<const char*>(from) + r * pitch, kRowBytes);
  }
  template <int tile>
  void store(void* to, std::int64_t pitch) const {
    for (int r = 0; r < 16; ++r)
      __builtin_memcpy(static_cast<char*>(to) + r * pitch, row<tile>(r), kRowBytes);
  }
  // Even and odd members of the pairs are added up apart, then both to the sum.
  template <int sum, int a, int b>
  void multiply() const {
    for (int m = 0; m < 16; ++m) {
      const auto* left = reinterpret_cast<const std::uint16_t*>(row<a>(m));
      Vector even{}, odd{};
      for (int k = 0; k < 16; ++k) {
        const WordVector pairs =
            reinterpret_cast<WordVector>(ronde::v0::load(reinterpret_cast<const float*>(row<b>(k))));
        even += as_float(left[2 * k]) * reinterpret_cast<Vector>(pairs << 16);
        odd += as_float(left[2 * k + 1]) * reinterpret_cast<Vector>(pairs & 0xffff0000u);
      }
      auto* to = reinterpret_cast<float*>(row<sum>(m));
      ronde::v0::store(to, ronde::v0::load(to) + (even + odd));
    }
  }
  static Vector rounded(Vector first, Vector second) {
    std::uint16_t halves[2 * kLanes];
    store_halves(halves, rounded_halves(first));
    store_halves(halves + kLanes, rounded_halves(second));
    Vector both;
    __builtin_memcpy(&both, halves, sizeof both);
    return both;
  }

 private:
  static constexpr int kRowBytes = 64;
  struct Tile {
    alignas(64) char bytes[16][kRowBytes];
  };
  struct Memory {
    Tile tiles[8] = {};
    bool is_configured = false;
  };
  static Memory& memory() {
    static thread_local Memory memory;
    return memory;
  }
  // The processor ends the program too where tiles are used outside of a scope.
  template <int tile>
  static char* row(int r) {
    if (!memory().is_configured) __builtin_trap();
    return memory().tiles[tile].bytes[r];
  }
  static float as_float(std::uint16_t half) {
    float value;
    from_bfloat16(&value, &half, 1);
    return value;
  }
};

}  // namespace
}  // namespace ronde::inline v0
