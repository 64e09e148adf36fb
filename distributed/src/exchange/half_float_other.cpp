#include "exchange/half_float.h"

namespace ronde::inline v0 {

HalfKernels native_half_kernels() {
  return {nullptr, nullptr};
}

}  // namespace ronde::inline v0
