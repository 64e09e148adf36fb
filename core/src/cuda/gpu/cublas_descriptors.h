/// cuBLASLt's descriptors in RAII. Errors are GpuErrors.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include <cublasLt.h>

#include "cuda/gpu/plan.h"

namespace ronde::inline v0::cuda {

inline void check_cublas(cublasStatus_t status, const char* doing) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw GpuError(std::string("cuBLASLt, ") + doing + ": " + cublasLtGetStatusString(status));
}

/// A matrix in columns, or as many as `batch` says, one behind the other.
class Layout {
 public:
  Layout(cudaDataType_t type, std::int64_t rows, std::int64_t columns, std::int64_t batch) {
    check_cublas(cublasLtMatrixLayoutCreate(&layout_, type, static_cast<std::uint64_t>(rows),
                                            static_cast<std::uint64_t>(columns), rows),
                 "a layout");
    if (batch == 1) return;
    const auto count = static_cast<std::int32_t>(batch);
    const std::int64_t stride = rows * columns;
    set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, count);
    set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, stride);
  }
  ~Layout() { cublasLtMatrixLayoutDestroy(layout_); }
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;
  cublasLtMatrixLayout_t get() const { return layout_; }

 private:
  template <class T>
  void set(cublasLtMatrixLayoutAttribute_t name, const T& value) {
    check_cublas(cublasLtMatrixLayoutSetAttribute(layout_, name, &value, sizeof value), "a layout");
  }

  cublasLtMatrixLayout_t layout_ = nullptr;
};

/// What a product computes, and in which type.
class Description {
 public:
  Description(cublasComputeType_t compute, cudaDataType_t scale) {
    check_cublas(cublasLtMatmulDescCreate(&description_, compute, scale), "a product");
  }
  ~Description() {
    if (description_) cublasLtMatmulDescDestroy(description_);
  }
  Description(Description&& other) noexcept : description_(std::exchange(other.description_, nullptr)) {}
  Description& operator=(Description&&) = delete;
  cublasLtMatmulDesc_t get() const { return description_; }

  template <class T>
  void set(cublasLtMatmulDescAttributes_t name, const T& value) {
    check_cublas(cublasLtMatmulDescSetAttribute(description_, name, &value, sizeof value), "a product");
  }

 private:
  cublasLtMatmulDesc_t description_ = nullptr;
};

/// Which algorithms are asked for.
class Preference {
 public:
  Preference() { check_cublas(cublasLtMatmulPreferenceCreate(&preference_), "a preference"); }
  ~Preference() { cublasLtMatmulPreferenceDestroy(preference_); }
  Preference(const Preference&) = delete;
  Preference& operator=(const Preference&) = delete;
  cublasLtMatmulPreference_t get() const { return preference_; }

  template <class T>
  void set(cublasLtMatmulPreferenceAttributes_t name, const T& value) {
    check_cublas(cublasLtMatmulPreferenceSetAttribute(preference_, name, &value, sizeof value),
                 "a preference");
  }

 private:
  cublasLtMatmulPreference_t preference_ = nullptr;
};

}  // namespace ronde::inline v0::cuda
