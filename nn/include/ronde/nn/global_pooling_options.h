/// What GlobalAveragePooling1D, GlobalAveragePooling2D and GlobalMaxPooling2D are made with.
#pragma once

#include <string>

namespace ronde::inline v0 {

struct GlobalPoolingOptions {
  bool keepdims = false;  ///< the axes that are pooled stay, with one element each
  std::string name = {};
};

}  // namespace ronde::inline v0
