// Stands in for onednn_backend.cpp and build_info.cpp in a build without oneDNN.
#include <ronde/core/build_info.h>

#include "backend/onednn/onednn_backend.h"

namespace ronde::inline v0 {

std::unique_ptr<Backend> make_onednn_backend() {
  return nullptr;
}

std::string onednn_version() {
  return "";
}

std::string instruction_set(DType) {
  return "";
}

std::string convolution_algorithm() {
  return "";
}

}  // namespace ronde::inline v0
