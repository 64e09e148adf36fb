#include "cuda/gpu/rank_collectives.h"

namespace ronde::inline v0::cuda {

std::string why_no_collectives() {
  return "this libronde_cuda.so was built without it";
}

std::string collectives_version() {
  return {};
}

std::unique_ptr<Collectives> make_collectives(int) {
  return nullptr;
}

}  // namespace ronde::inline v0::cuda
