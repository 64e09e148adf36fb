#include "cuda/math_options.h"

#include <cstdlib>
#include <string_view>

#include <ronde/core/error.h>

namespace ronde::inline v0::cuda {

MathOptions math_options() {
  const char* wanted = std::getenv("RONDE_CUDA_MATH");
  const std::string_view mode = wanted && *wanted ? wanted : "f32";
  require<UsageError>(mode == "f32" || mode == "tf32", "[cuda] $RONDE_CUDA_MATH expects f32 or tf32, got \"",
                      mode, '"');
  return {.mode = mode == "tf32" ? MathMode::tf32 : MathMode::f32};
}

}  // namespace ronde::inline v0::cuda
