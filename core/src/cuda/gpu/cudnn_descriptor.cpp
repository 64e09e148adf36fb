#include "cuda/gpu/cudnn_descriptor.h"

#include <array>
#include <string>

namespace ronde::inline v0::cuda {

void check_cudnn(cudnnStatus_t status, const char* doing) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  std::array<char, 256> text{};
  cudnnGetLastErrorString(text.data(), text.size());
  throw GpuError(std::string("cuDNN, ") + doing + ": " + cudnnGetErrorString(status) + " " + text.data());
}

CudnnDescriptor::CudnnDescriptor(cudnnBackendDescriptorType_t type) {
  check_cudnn(cudnnBackendCreateDescriptor(type, &handle_), "making a descriptor");
}

CudnnDescriptor::~CudnnDescriptor() {
  if (handle_) cudnnBackendDestroyDescriptor(handle_);
}

CudnnDescriptor& CudnnDescriptor::set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                                      std::int64_t count, const void* values) {
  check_cudnn(cudnnBackendSetAttribute(handle_, name, type, count, values), "setting an attribute");
  return *this;
}

CudnnDescriptor& CudnnDescriptor::finalize() {
  check_cudnn(cudnnBackendFinalize(handle_), "finalising a descriptor");
  return *this;
}

std::int64_t CudnnDescriptor::get_int(cudnnBackendAttributeName_t name) const {
  std::int64_t value = 0, count = 0;
  check_cudnn(cudnnBackendGetAttribute(handle_, name, CUDNN_TYPE_INT64, 1, &count, &value),
              "reading an attribute");
  return value;
}

}  // namespace ronde::inline v0::cuda
