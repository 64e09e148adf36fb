/// Files that hold weights by name and nothing else: .safetensors and .npz, told by their suffix.
#pragma once

#include <string>

#include <ronde/models/named_weights.h>

namespace ronde::inline v0 {

bool is_named_weights_file(const std::string& path);
NamedTensors read_named_weights(const std::string& path);
void write_named_weights(const std::string& path, const Module& net);

}  // namespace ronde::inline v0
