#include "cuda/gpu/product_plan.h"

#include <cstdint>

#include "cuda/gpu/cublas_descriptors.h"
#include "cuda/gpu/cuda_check.h"

namespace ronde::inline v0::cuda {

namespace {

constexpr std::size_t kMostProductWorkspace = std::size_t{32} << 20;

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

cudaDataType_t type_of(DType dtype) {
  return dtype == DType::f64 ? CUDA_R_64F : dtype == DType::bf16 ? CUDA_R_16BF : CUDA_R_32F;
}

// Of bf16 factors each product is exact in float, whatever the mode.
cublasComputeType_t compute_type(const Call& call, const MathOptions& math) {
  const DType factors = call[1].dtype;
  if (factors == DType::f64) return CUBLAS_COMPUTE_64F;
  return factors == DType::f32 && math.mode == MathMode::tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                              : CUBLAS_COMPUTE_32F;
}

/// As far as calls that share a plan have it in common.
std::uint32_t alignment(const void* memory) {
  std::uint32_t bytes = 16;
  while (reinterpret_cast<std::uintptr_t>(memory) % bytes != 0) bytes /= 2;
  return bytes;
}

/// A bias goes into cuBLASLt's epilogue if it has the result's dtype. Else our own kernel adds it and rounds,
/// to bf16 from a product in float: each result is rounded once.
class ProductPlan final : public PlanTag {
 public:
  ProductPlan(const Call& call, const MathOptions& math, cublasLtHandle_t handle)
      : product_(product_of(call)),
        compute_(compute_type(call, math)),
        a_(type_of(call[1].dtype)),
        b_(type_of(call[2].dtype)),
        handle_(handle) {
    const bool has_bias = call.op == Op::dense && call[3].defined;
    if (has_bias && call[3].dtype == call[0].dtype && find(call, Bias::by_library)) return;
    if (find(call, has_bias ? Bias::by_kernel : Bias::none)) return;
    throw GpuError("cuBLASLt has no algorithm for a product");
  }

  std::size_t workspace() const override {
    return is_in_scratch_ ? scratch_begins() + scratch_bytes() : heuristic_.workspaceSize;
  }

  void run(const Call& call, void* workspace, const Place& place) override {
    if (call[0].count() == 0) return;
    const Operand result = result_of(call, workspace);
    if (is_trivial())
      run_elementwise({.op = Op::fill, .outputs = 1, .operands = 1, .tensors = {result}}, place);
    else
      multiply(call, result, workspace, place);
    const bool has_relu = call.op == Op::dense && call.attributes.epilogue == Epilogue::relu;
    if (bias_ == Bias::by_kernel)
      run_epilogue(call[0], result, call[3], has_relu, place);
    else if (has_relu)
      apply_relu(call[0], place);
  }

 private:
  enum class Bias { none, by_library, by_kernel };

  bool is_trivial() const { return product_.k == 0 || product_.m * product_.n * product_.batch == 0; }

  std::size_t scratch_begins() const { return (heuristic_.workspaceSize + 255) / 256 * 256; }
  std::size_t scratch_bytes() const {
    return static_cast<std::size_t>(product_.batch * product_.m * product_.n) * sizeof(float);
  }

  /// Where the product itself goes.
  Operand result_of(const Call& call, void* workspace) const {
    Operand result = call[0];
    if (!is_in_scratch_) return result;
    result.dtype = DType::f32;
    result.data = static_cast<char*>(workspace) + scratch_begins();
    return result;
  }

  // Columns of the transposes are our rows.
  Layout layout_of_a() const {
    const Product& p = product_;
    return p.transpose_a ? Layout(a_, p.m, p.k, p.batch) : Layout(a_, p.k, p.m, p.batch);
  }
  Layout layout_of_b() const {
    const Product& p = product_;
    return p.transpose_b ? Layout(b_, p.k, p.n, p.batch) : Layout(b_, p.n, p.k, p.batch);
  }
  Layout layout_of(const Operand& result) const {
    return {type_of(result.dtype), product_.n, product_.m, product_.batch};
  }

  Description description_of(const Call& call) const {
    Description description(compute_, compute_ == CUBLAS_COMPUTE_64F ? CUDA_R_64F : CUDA_R_32F);
    description.set(CUBLASLT_MATMUL_DESC_TRANSA, product_.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
    description.set(CUBLASLT_MATMUL_DESC_TRANSB, product_.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
    if (bias_ == Bias::by_library) {
      description.set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
      description.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<const void*>(call[3].data));
    }
    return description;
  }

  /// Its factors a and b, in our order; where the result lies nowhere yet it will be well aligned.
  void prefer(Preference& preference, const Call& call, const Operand& result) const {
    preference.set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kMostProductWorkspace);
    preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment(call[2].data));
    preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment(call[1].data));
    preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment(result.data));
    preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment(result.data));
    // Partial sums in bf16 would each be rounded.
    const std::uint32_t sums = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    if (result.dtype == DType::bf16) preference.set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, sums);
  }

  /// Whether there is an algorithm that leaves the bias to whom `bias` says.
  bool find(const Call& call, Bias bias) {
    bias_ = is_trivial() && bias == Bias::by_library ? Bias::by_kernel : bias;
    is_in_scratch_ = bias_ == Bias::by_kernel && call[0].dtype == DType::bf16;
    if (is_trivial()) return true;
    const Operand result = result_of(call, nullptr);
    const Description description = description_of(call);
    const Layout a = layout_of_a(), b = layout_of_b(), out = layout_of(result);
    Preference preference;
    prefer(preference, call, result);
    int found = 0;
    const cublasStatus_t status =
        cublasLtMatmulAlgoGetHeuristic(handle_, description.get(), b.get(), a.get(), out.get(), out.get(),
                                       preference.get(), 1, &heuristic_, &found);
    return status == CUBLAS_STATUS_SUCCESS && found > 0;
  }

  void multiply(const Call& call, const Operand& result, void* workspace, const Place& place) const {
    const Description description = description_of(call);
    const Layout a = layout_of_a(), b = layout_of_b(), out = layout_of(result);
    const double one = 1.0, zero = 0.0;
    const float one_f = 1.0f, zero_f = 0.0f;
    const bool is_double = compute_ == CUBLAS_COMPUTE_64F;
    const void* alpha = is_double ? static_cast<const void*>(&one) : &one_f;
    const void* beta = is_double ? static_cast<const void*>(&zero) : &zero_f;
    check_cublas(cublasLtMatmul(handle_, description.get(), alpha, call[2].data, b.get(), call[1].data,
                                a.get(), beta, result.data, out.get(), result.data, out.get(),
                                &heuristic_.algo, workspace, heuristic_.workspaceSize, native(place.stream)),
                 "a product");
  }

  // Not cuBLASLt's own relu: nothing says that it keeps a NaN.
  static void apply_relu(const Operand& out, const Place& place) {
    run_elementwise({.op = Op::unary,
                     .outputs = 1,
                     .operands = 2,
                     .tensors = {out, out},
                     .attributes = {.unary = UnaryOp::relu}},
                    place);
  }

  Product product_;
  cublasComputeType_t compute_;
  cudaDataType_t a_, b_;
  Bias bias_ = Bias::none;
  bool is_in_scratch_ = false;  ///< the product itself, as floats
  cublasLtHandle_t handle_;
  cublasLtMatmulHeuristicResult_t heuristic_{};
};

}  // namespace

std::unique_ptr<PlanTag> make_product_plan(const Call& call, const MathOptions& math,
                                           cublasLtHandle_t handle) {
  return std::make_unique<ProductPlan>(call, math, handle);
}

}  // namespace ronde::inline v0::cuda
