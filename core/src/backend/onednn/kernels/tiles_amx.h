/// Tiles: the eight registers of 16 rows by 64 bytes of AMX, by its instructions. The compiler's own
/// functions for them do not say that they read and write memory.
#pragma once

#include <cstdint>

#include "backend/onednn/kernels/tile_shape.h"
#include "backend/onednn/kernels/vector.h"

namespace ronde::inline v0 {
namespace {

class Tiles {
 public:
  /// All of them whole; of the calling thread, until the end of the scope. Nothing of them is left then for
  /// the system to save when it changes threads.
  Tiles() {
    static constexpr Configuration kWhole;
    asm volatile("ldtilecfg %0" ::"m"(kWhole));
  }
  ~Tiles() { asm volatile("tilerelease"); }
  Tiles(const Tiles&) = delete;
  Tiles& operator=(const Tiles&) = delete;

  template <int tile>
  void clear() const {
    asm volatile("tilezero %%tmm%c0" ::"i"(tile));
  }
  /// `pitch`: bytes from a row to the next.
  template <int tile>
  void load(const void* from, std::int64_t pitch) const {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(from), "r"(pitch), "i"(tile) : "memory");
  }
  template <int tile>
  void store(void* to, std::int64_t pitch) const {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(to), "r"(pitch), "i"(tile) : "memory");
  }
  /// sum(m, n) += a(m, k) * b(k, n), where b's rows hold pairs: (b(2 k, n), b(2 k + 1, n)).
  template <int sum, int a, int b>
  void multiply() const {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(sum), "i"(a), "i"(b));
  }
  /// The elements of both as bfloat16, those of `first` first.
  static Vector rounded(Vector first, Vector second) {
    Vector halves;
    asm("vcvtne2ps2bf16 %1, %2, %0" : "=v"(halves) : "v"(first), "v"(second));
    return halves;
  }

 private:
  struct alignas(64) Configuration {
    std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
    std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
  };
  static_assert(sizeof(Configuration) == 64);
};

}  // namespace
}  // namespace ronde::inline v0
