#include <algorithm>
#include <bit>

#include <ronde/core/sha256.h>
#include <ronde/models/model.h>
#include <ronde/nn/weight_layout.h>

#include "state/model_state.h"

namespace ronde::inline v0 {

static_assert(std::endian::native == std::endian::little, "weights are hashed as little-endian bytes");

std::string Model::weights_sha256() const {
  std::vector<Parameter> weights = state_->module->parameters();
  std::sort(weights.begin(), weights.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  Sha256 hash;
  for (const Parameter& weight : weights) {
    hash.update(weight.name);
    hash.update(std::string_view("\0", 1));
    const Tensor values = to_keras_layout(weight).to(DType::f32);
    hash.update(values.raw(), values.byte_size());
  }
  return hash.hex();
}

}  // namespace ronde::inline v0
