#include "weights/named_weights_file.h"

#include <ronde/models/safetensors.h>
#include <ronde/models/weights_npz.h>

namespace ronde::inline v0 {

bool is_named_weights_file(const std::string& path) {
  return path.ends_with(".safetensors") || path.ends_with(".npz");
}

NamedTensors read_named_weights(const std::string& path) {
  return path.ends_with(".npz") ? read_npz(path) : read_safetensors(path).tensors;
}

void write_named_weights(const std::string& path, const Module& net) {
  if (path.ends_with(".npz")) return write_npz(path, net);
  write_safetensors(path, net);
}

}  // namespace ronde::inline v0
