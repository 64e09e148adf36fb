#include "denormals/flushed_denormals.h"

namespace ronde::inline v0 {

namespace {

constexpr std::uint64_t kFlush = std::uint64_t{1} << 24;  // of FPCR: operands and results

std::uint64_t control() {
  std::uint64_t value;
  asm volatile("mrs %0, fpcr" : "=r"(value));
  return value;
}
void set_control(std::uint64_t value) {
  asm volatile("msr fpcr, %0" : : "r"(value));
}

}  // namespace

FlushedDenormals::FlushedDenormals() : before_(control() & kFlush) {
  if (before_ == 0) set_control(control() | kFlush);
}

FlushedDenormals::~FlushedDenormals() {
  if (before_ == 0) set_control(control() & ~kFlush);
}

}  // namespace ronde::inline v0
