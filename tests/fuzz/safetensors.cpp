// Weights as .safetensors.
#include <ronde/models/safetensors.h>

#include <ronde/core/backend.h>

#include "fuzz.h"

namespace ronde::fuzz {

void fuzz_one(std::string_view bytes) {
  decode_safetensors(bytes, "fuzz.safetensors");
}

std::vector<std::string> seeds() {
  const Tensor small = Tensor::full({2, 3}, 0.5, {.backend = &backend("cpu")});
  const std::string header = R"({"w":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}})";
  return {std::string(1, static_cast<char>(header.size())) + std::string(7, 0) + header + std::string(8, 1),
          encode_safetensors({.tensors = {{"dense/kernel", small}, {"dense/bias", small}},
                              .metadata = {{"format", "keras"}}}),
          encode_safetensors({})};
}

}  // namespace ronde::fuzz
