/// FileContent: what there is to say about a file with weights.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <ronde/core/error.h>
#include <ronde/core/tensor.h>
#include <ronde/models/model.h>

#include "common/banner.h"

namespace ronde::apps {

using NamedTensor = std::pair<std::string, Tensor>;

struct FileContent {
  BannerLines lines;                 ///< {"epoch", "3"} ...
  std::vector<NamedTensor> tensors;  ///< in the file's order
};

/// Good or not, it was never meant to hold a model.
struct NoModelFile : InputError {
  using InputError::InputError;
};

/// Of a model file, .safetensors, .npz or packed data set, whole. `path` may be a run's folder
/// (model_file.h). IoError when it cannot be read, NoModelFile when it is none of them, InputError when it is
/// damaged.
FileContent read_content(const std::string& path);

/// Model::load, from a run's folder too; what is wrong with a file that holds weights alone, or none, is said
/// in words.
Model load_model(const std::string& path, ModelOptions options = {});

/// InputError for a net with several outputs, whose rows are no scores of classes.
void require_one_output(const Module& net, const std::string& path);

}  // namespace ronde::apps
