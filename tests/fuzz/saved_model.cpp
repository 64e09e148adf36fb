// Model files: .h5 behind the check of their SHA-256, and .keras archives, whose members have a CRC-32 each.
#include <ronde/core/backend.h>
#include <ronde/models/saved_model.h>

#include "fuzz.h"

namespace ronde::fuzz {

void fuzz_one(std::string_view bytes) {
  decode_saved_model(std::string(bytes), "fuzz");
}

std::vector<std::string> seeds() {
  const Tensor kernel = Tensor::full({4, 3}, 0.5, {.backend = &backend("cpu")});
  SavedModel model;
  model.layers = {{.name = "dense", .weights = {{"dense/kernel:0", kernel}}}};
  model.state.emplace().steps = 7;
  return {encode_saved_model(model), encode_saved_model({})};
}

}  // namespace ronde::fuzz
