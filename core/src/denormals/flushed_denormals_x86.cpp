#include <xmmintrin.h>

#include "denormals/flushed_denormals.h"

namespace ronde::inline v0 {

namespace {

constexpr unsigned kResultsAndOperands = 0x8040;  // of MXCSR

}  // namespace

FlushedDenormals::FlushedDenormals() : before_(_mm_getcsr() & kResultsAndOperands) {
  if (before_ != kResultsAndOperands) _mm_setcsr(_mm_getcsr() | kResultsAndOperands);
}

// What else the register says, as that a number overflowed, stays.
FlushedDenormals::~FlushedDenormals() {
  if (before_ != kResultsAndOperands)
    _mm_setcsr((_mm_getcsr() & ~kResultsAndOperands) | static_cast<unsigned>(before_));
}

}  // namespace ronde::inline v0
