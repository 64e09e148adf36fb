#include "cuda/backend_options.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <string_view>

#include <ronde/core/error.h>

namespace ronde::inline v0::cuda {

namespace {

/// Which of `names` the variable has; the first one where it is not set.
template <std::size_t N>
std::size_t choice(const char* variable, const std::array<std::string_view, N>& names) {
  const char* set = std::getenv(variable);
  const std::string_view wanted = set && *set ? set : names[0];
  const auto found = std::find(names.begin(), names.end(), wanted);
  std::string expected(names[0]);
  for (std::size_t i = 1; i < N; ++i) expected = cat(expected, i + 1 < N ? ", " : " or ", names[i]);
  require<UsageError>(found != names.end(), "[cuda] $", variable, " expects ", expected, ", got \"", wanted,
                      '"');
  return static_cast<std::size_t>(found - names.begin());
}

}  // namespace

CudaBackendOptions options_of_environment(int index) {
  constexpr std::array modes{MathMode::f32, MathMode::tf32};
  constexpr std::array engines{Engines::tuned, Engines::fastest, Engines::deterministic};
  return {
      .index = index,
      .math = {.mode = modes[choice<2>("RONDE_CUDA_MATH", {"f32", "tf32"})],
               .engines = engines[choice<3>("RONDE_CUDA_ENGINES", {"tuned", "fastest", "deterministic"})]},
      .graphs = choice<2>("RONDE_CUDA_GRAPHS", {"on", "off"}) == 0,
      .windows = choice<2>("RONDE_NCCL_WINDOWS", {"on", "off"}) == 0};
}

}  // namespace ronde::inline v0::cuda
