// Stands in for onednn_backend.cpp in a build without oneDNN.
#include "backend/onednn/onednn_backend.h"

namespace ronde::inline v0 {

std::unique_ptr<Backend> make_onednn_backend() {
  return nullptr;
}

}  // namespace ronde::inline v0
