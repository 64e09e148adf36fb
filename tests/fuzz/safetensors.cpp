// Weights as .safetensors, and what the process that reads foreign HDF5 answers, which is such a file too.
#include <ronde/models/safetensors.h>

#include <ronde/core/backend.h>

#include <cstring>

#include "fuzz.h"
#include "keras_file/plain_model.h"

namespace ronde::fuzz {

void fuzz_one(std::string_view bytes) {
  if (decode_safetensors(bytes, "fuzz.safetensors").metadata.count("layers") > 0) decode_plain_model(bytes);
}

namespace {

/// With its SHA-256 no change would get any further.
std::string without_hash(std::string bytes) {
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  const std::size_t key = bytes.find("\"ronde_sha256\""), mark = bytes.find("\"ronde:"),
                    end = bytes.find('"', mark + 1);
  const std::size_t begin = bytes[key - 1] == ',' ? key - 1 : key;
  length -= end + 1 - begin;
  bytes.erase(begin, end + 1 - begin);
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes;
}

std::string plain_model() {
  SavedModel model;
  model.model_config = ConfigDict{{"class_name", "Sequential"}};
  model.layers = {{"dense", {{"dense/kernel:0", Tensor::full({2, 3}, 0.5, {.backend = &backend("cpu")})}}}};
  model.optimizer_weights = {{"iteration", Tensor::from<std::int64_t>({}, {3}, &backend("cpu"))}};
  model.state.emplace().optimizer.emplace().name = "Adam";
  model.state->run.emplace().history.values["loss"] = {0.5};
  return encode_plain_model(model);
}

}  // namespace

std::vector<std::string> seeds() {
  const Tensor small = Tensor::full({2, 3}, 0.5, {.backend = &backend("cpu")});
  const std::string header = R"({"w":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}})";
  return {std::string(1, static_cast<char>(header.size())) + std::string(7, 0) + header + std::string(8, 1),
          encode_safetensors({.tensors = {{"dense/kernel", small}, {"dense/bias", small}},
                              .metadata = {{"format", "keras"}}}),
          encode_safetensors({}), without_hash(plain_model())};
}

}  // namespace ronde::fuzz
