#include "cuda/gpu/product_plan.h"

#include <cstdint>
#include <string>
#include <utility>

#include "cuda/gpu/cuda_check.h"

namespace ronde::inline v0::cuda {

namespace {

constexpr std::size_t kMostProductWorkspace = std::size_t{32} << 20;

void check_cublas(cublasStatus_t status, const char* doing) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw GpuError(std::string("cuBLASLt, ") + doing + ": " + cublasLtGetStatusString(status));
}

/// Matrices are row-major: to cuBLASLt, which thinks in columns, each is its own transpose. So out = a b is
/// computed as out^T = b^T a^T, with the operands as they lie.
struct Product {
  std::int64_t batch = 1, m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
};

Product product_of(const Call& call) {
  const Operand &out = call[0], &a = call[1];
  const auto last = static_cast<std::size_t>(out.rank) - 1;
  Product p{.m = out.shape[last - 1], .n = out.shape[last]};
  if (call.op == Op::matmul) {
    p.transpose_a = call.attributes.matmul.transpose_a;
    p.transpose_b = call.attributes.matmul.transpose_b;
    if (out.rank == 3) p.batch = out.shape[0];
  }
  p.k = a.shape[p.transpose_a ? last - 1 : last];
  return p;
}

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

class Description {
 public:
  Description(const Product& p, bool is_double, const MathOptions& math) {
    const cublasComputeType_t compute = is_double                     ? CUBLAS_COMPUTE_64F
                                        : math.mode == MathMode::tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                                      : CUBLAS_COMPUTE_32F;
    check_cublas(cublasLtMatmulDescCreate(&description_, compute, is_double ? CUDA_R_64F : CUDA_R_32F),
                 "a product");
    set(CUBLASLT_MATMUL_DESC_TRANSA, p.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_TRANSB, p.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
  }
  ~Description() {
    if (description_) cublasLtMatmulDescDestroy(description_);
  }
  Description(Description&& other) noexcept : description_(std::exchange(other.description_, nullptr)) {}
  Description& operator=(Description&&) = delete;
  cublasLtMatmulDesc_t get() const { return description_; }

  void set_bias(const void* bias) {
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
    set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
  }

 private:
  template <class T>
  void set(cublasLtMatmulDescAttributes_t name, const T& value) {
    check_cublas(cublasLtMatmulDescSetAttribute(description_, name, &value, sizeof value), "a product");
  }

  cublasLtMatmulDesc_t description_ = nullptr;
};

class Preference {
 public:
  Preference() {
    check_cublas(cublasLtMatmulPreferenceCreate(&preference_), "a preference");
    check_cublas(cublasLtMatmulPreferenceSetAttribute(preference_, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                      &kMostProductWorkspace, sizeof kMostProductWorkspace),
                 "a preference");
  }
  ~Preference() { cublasLtMatmulPreferenceDestroy(preference_); }
  Preference(const Preference&) = delete;
  Preference& operator=(const Preference&) = delete;
  cublasLtMatmulPreference_t get() const { return preference_; }

 private:
  cublasLtMatmulPreference_t preference_ = nullptr;
};

class ProductPlan final : public PlanTag {
 public:
  ProductPlan(const Call& call, const MathOptions& math, cublasLtHandle_t handle)
      : product_(product_of(call)),
        is_double_(call[0].dtype == DType::f64),
        has_bias_(call.op == Op::dense && call[3].defined),
        math_(math),
        handle_(handle) {
    if (is_trivial()) return;
    choose(call);
    if (found_ == 0 && has_bias_) {
      fuses_bias_ = false;
      choose(call);
    }
    if (found_ == 0) throw GpuError("cuBLASLt has no algorithm for a product");
  }

  std::size_t workspace() const override { return is_trivial() ? 0 : heuristic_.workspaceSize; }

  void run(const Call& call, void* workspace, const Place& place) override {
    const Operand& out = call[0];
    if (out.count() == 0) return;
    if (is_trivial())
      run_elementwise({.op = Op::fill, .outputs = 1, .operands = 1, .tensors = {out}}, place);
    else
      multiply(call, workspace, place);
    if (has_bias_ && (is_trivial() || !fuses_bias_)) add_bias(call, place);
    // Not cuBLASLt's own relu: nothing says that it keeps a NaN.
    if (call.op == Op::dense && call.attributes.epilogue == Epilogue::relu)
      run_elementwise({.op = Op::unary,
                       .outputs = 1,
                       .operands = 2,
                       .tensors = {out, out},
                       .attributes = {.unary = UnaryOp::relu}},
                      place);
  }

 private:
  bool is_trivial() const { return product_.k == 0 || product_.m * product_.n * product_.batch == 0; }
  cudaDataType_t type() const { return is_double_ ? CUDA_R_64F : CUDA_R_32F; }

  // Columns of the transposes are our rows.
  Layout layout_of_a() const {
    const Product& p = product_;
    return p.transpose_a ? Layout(type(), p.m, p.k, p.batch) : Layout(type(), p.k, p.m, p.batch);
  }
  Layout layout_of_b() const {
    const Product& p = product_;
    return p.transpose_b ? Layout(type(), p.k, p.n, p.batch) : Layout(type(), p.n, p.k, p.batch);
  }
  Layout layout_of_out() const { return {type(), product_.n, product_.m, product_.batch}; }

  Description description_of(const Call& call) const {
    Description description(product_, is_double_, math_);
    if (has_bias_ && fuses_bias_) description.set_bias(call[3].data);
    return description;
  }

  void choose(const Call& call) {
    const Description description = description_of(call);
    const Layout a = layout_of_a(), b = layout_of_b(), out = layout_of_out();
    const Preference preference;
    const cublasStatus_t status =
        cublasLtMatmulAlgoGetHeuristic(handle_, description.get(), b.get(), a.get(), out.get(), out.get(),
                                       preference.get(), 1, &heuristic_, &found_);
    if (status != CUBLAS_STATUS_SUCCESS) found_ = 0;
  }

  void multiply(const Call& call, void* workspace, const Place& place) const {
    const Description description = description_of(call);
    const Layout a = layout_of_a(), b = layout_of_b(), out = layout_of_out();
    const double one = 1.0, zero = 0.0;
    const float one_f = 1.0f, zero_f = 0.0f;
    const void* alpha = is_double_ ? static_cast<const void*>(&one) : &one_f;
    const void* beta = is_double_ ? static_cast<const void*>(&zero) : &zero_f;
    check_cublas(cublasLtMatmul(handle_, description.get(), alpha, call[2].data, b.get(), call[1].data,
                                a.get(), beta, call[0].data, out.get(), call[0].data, out.get(),
                                &heuristic_.algo, workspace, heuristic_.workspaceSize, native(place.stream)),
                 "a product");
  }

  static void add_bias(const Call& call, const Place& place) {
    Operand bias = call[3];
    bias.rank = 2;
    bias.shape = call[0].shape;
    bias.strides = {0, 1};
    run_elementwise({.op = Op::binary,
                     .outputs = 1,
                     .operands = 3,
                     .tensors = {call[0], call[0], bias},
                     .attributes = {.binary = BinaryOp::add}},
                    place);
  }

  Product product_;
  bool is_double_, has_bias_;
  bool fuses_bias_ = true;
  MathOptions math_;
  cublasLtHandle_t handle_;
  cublasLtMatmulHeuristicResult_t heuristic_{};
  int found_ = 0;
};

}  // namespace

std::unique_ptr<PlanTag> make_product_plan(const Call& call, const MathOptions& math,
                                           cublasLtHandle_t handle) {
  return std::make_unique<ProductPlan>(call, math, handle);
}

}  // namespace ronde::inline v0::cuda
