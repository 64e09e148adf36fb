/// FileContent: what there is to say about a file with weights.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <ronde/core/tensor.h>
#include <ronde/models/model.h>

#include "common/banner.h"

namespace ronde::apps {

using NamedTensor = std::pair<std::string, Tensor>;

struct FileContent {
  BannerLines lines;                 ///< {"epoch", "3"} ...
  std::vector<NamedTensor> tensors;  ///< in the file's order
};

/// Of a model file, .safetensors or .npz, whole. IoError when it cannot be read, InputError when it is none
/// of them or damaged.
FileContent read_content(const std::string& path);

/// Model::load; what is wrong with a file that holds weights alone is said in words.
Model load_model(const std::string& path, ModelOptions options = {});

}  // namespace ronde::apps
