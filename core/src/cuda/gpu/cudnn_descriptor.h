/// cuDNN's descriptors: made, filled with attributes, finalised; given back in the end. Throws GpuError with
/// what cuDNN says of the last one.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <utility>

#include <cudnn_graph.h>

#include "cuda/gpu/plan.h"

namespace ronde::inline v0::cuda {

void check_cudnn(cudnnStatus_t status, const char* doing);

class CudnnDescriptor {
 public:
  explicit CudnnDescriptor(cudnnBackendDescriptorType_t type);
  ~CudnnDescriptor();
  CudnnDescriptor(CudnnDescriptor&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  CudnnDescriptor& operator=(CudnnDescriptor&&) = delete;

  cudnnBackendDescriptor_t get() const { return handle_; }

  CudnnDescriptor& set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count,
                       const void* values);
  CudnnDescriptor& set(cudnnBackendAttributeName_t name, std::initializer_list<std::int64_t> values) {
    return set(name, CUDNN_TYPE_INT64, static_cast<std::int64_t>(values.size()), values.begin());
  }
  CudnnDescriptor& set(cudnnBackendAttributeName_t name, const CudnnDescriptor& other) {
    return set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &other.handle_);
  }
  CudnnDescriptor& set_type(cudnnBackendAttributeName_t name, cudnnDataType_t type) {
    return set(name, CUDNN_TYPE_DATA_TYPE, 1, &type);
  }
  CudnnDescriptor& finalize();

  std::int64_t get_int(cudnnBackendAttributeName_t name) const;

 private:
  cudnnBackendDescriptor_t handle_ = nullptr;
};

}  // namespace ronde::inline v0::cuda
