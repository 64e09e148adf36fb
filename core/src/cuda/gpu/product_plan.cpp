#include "cuda/gpu/product_plan.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "cuda/gpu/cublas_descriptors.h"
#include "cuda/gpu/cuda_check.h"
#include "cuda/gpu/cuda_resources.h"
#include "cuda/gpu/trials.h"

namespace ronde::inline v0::cuda {

namespace {

constexpr std::size_t kMostProductWorkspace = std::size_t{32} << 20;
constexpr int kMostAlgorithms = 8;  // that are tried

/// Matrices are row-major: to cuBLASLt, which thinks in columns, each is its own transpose. So out = a b is
/// computed as out^T = b^T a^T, with the operands as they lie.
struct Product {
  std::int64_t batch = 1, m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
};

bool is_gradient(const Call& call) {
  return call.op == Op::dense_backward_weight;
}
const Operand& a_of(const Call& call) {
  return call[is_gradient(call) ? 3 : 1];
}
const Operand& b_of(const Call& call) {
  return call[2];
}
/// That is added, or the gradient of one.
const Operand& bias_of(const Call& call) {
  return call[is_gradient(call) ? 1 : 3];
}

Product product_of(const Call& call) {
  const Operand& out = call[0];
  const auto last = static_cast<std::size_t>(out.rank) - 1;
  Product p{.m = out.shape[last - 1], .n = out.shape[last]};
  p.transpose_a = is_gradient(call) || (call.op == Op::matmul && call.attributes.matmul.transpose_a);
  p.transpose_b = call.op == Op::matmul && call.attributes.matmul.transpose_b;
  if (out.rank == 3) p.batch = out.shape[0];
  p.k = a_of(call).shape[p.transpose_a ? last - 1 : last];
  return p;
}

cudaDataType_t type_of(DType dtype) {
  return dtype == DType::f64 ? CUDA_R_64F : dtype == DType::bf16 ? CUDA_R_16BF : CUDA_R_32F;
}

// Of bf16 factors each product is exact in float, and in TF32 where they are float copies, whatever the mode.
cublasComputeType_t compute_type(const Call& call, const MathOptions& math) {
  const DType factors = b_of(call).dtype;
  if (factors == DType::f64) return CUBLAS_COMPUTE_64F;
  const bool may_be_tf32 = math.mode == MathMode::tf32 || call.attributes.products == Products::rounded;
  return factors == DType::f32 && may_be_tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

constexpr std::uint32_t kMostAligned = 16;  // bytes of a pack

/// As far as calls that share a plan have it in common.
std::uint32_t alignment(const void* memory) {
  std::uint32_t bytes = kMostAligned;
  while (reinterpret_cast<std::uintptr_t>(memory) % bytes != 0) bytes /= 2;
  return bytes;
}

/// A bias, or its gradient, goes into cuBLASLt's epilogue if it has the result's dtype and nothing is dropped
/// behind it, and where it begins a pack: there is no word to cuBLASLt for where it lies, and an algorithm
/// may read four of it at once. Else, and to a result in bf16, our own kernel adds it, there from a product
/// in float: each is rounded once, where cuBLASLt 13.1 on an H100 rounds some products before it adds the
/// bias.
class ProductPlan final : public PlanTag {
 public:
  ProductPlan(const Call& call, const MathOptions& math, cublasLtHandle_t handle, const Place& place)
      : product_(product_of(call)),
        compute_(compute_type(call, math)),
        a_(type_of(a_of(call).dtype)),
        b_(type_of(b_of(call).dtype)),
        handle_(handle) {
    const bool has_bias = call.op != Op::matmul && bias_of(call).defined;
    const bool drops = call.op == Op::dense && call.operands > 4 && call[4].defined;
    const bool rounds_twice = call.op == Op::dense && call[0].dtype == DType::bf16;
    const bool may_be_by_library = has_bias && !drops && !rounds_twice &&
                                   bias_of(call).dtype == call[0].dtype &&
                                   alignment(bias_of(call).data) == kMostAligned;
    const bool tries = math.engines != Engines::deterministic;
    if (!(may_be_by_library && find(call, Bias::by_library, tries, place)) &&
        !find(call, has_bias || drops ? Bias::by_kernel : Bias::none, tries, place))
      throw GpuError("cuBLASLt has no algorithm for a product");
  }

  std::size_t workspace() const override { return own_begins() + own_bytes_; }

  void run(const Call& call, void* workspace, const Place& place) override {
    if (call[0].count() == 0 && !is_gradient(call)) return;
    const Operand result = result_of(call, workspace);
    if (is_trivial())
      run_elementwise({.op = Op::fill, .outputs = 1, .operands = 1, .tensors = {result}}, place);
    else
      multiply(call, result, workspace, place);
    if (bias_ == Bias::by_kernel && is_gradient(call))
      run_bias_gradient(bias_of(call), b_of(call), static_cast<char*>(workspace) + own_begins(), place);
    else if (bias_ == Bias::by_kernel)
      run_epilogue(call, result, place);
    else if (call.op == Op::dense && call.attributes.epilogue == Epilogue::relu)
      apply_relu(call[0], place);
  }

 private:
  enum class Bias { none, by_library, by_kernel };

  bool is_trivial() const { return product_.k == 0 || product_.m * product_.n * product_.batch == 0; }

  /// Our own part of the workspace, behind the library's.
  std::size_t own_begins() const { return (heuristic_.workspaceSize + 255) / 256 * 256; }
  std::size_t own_bytes(const Call& call) const {
    if (is_in_scratch_) return static_cast<std::size_t>(product_.m * product_.n) * sizeof(float);
    return bias_ == Bias::by_kernel && is_gradient(call) ? bias_workspace(product_.k, product_.n) : 0;
  }

  /// Where the product itself goes.
  Operand result_of(const Call& call, void* workspace) const {
    Operand result = call[0];
    if (!is_in_scratch_) return result;
    result.dtype = DType::f32;
    result.data = static_cast<char*>(workspace) + own_begins();
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
      // Its first factor is our second.
      description.set(CUBLASLT_MATMUL_DESC_EPILOGUE,
                      is_gradient(call) ? CUBLASLT_EPILOGUE_BGRADA : CUBLASLT_EPILOGUE_BIAS);
      description.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<const void*>(bias_of(call).data));
    }
    return description;
  }

  /// Its factors a and b, in our order; where the result lies nowhere yet it will be well aligned.
  void prefer(Preference& preference, const Call& call, const Operand& result) const {
    preference.set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kMostProductWorkspace);
    preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment(b_of(call).data));
    preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment(a_of(call).data));
    preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment(result.data));
    preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment(result.data));
    // Partial sums in bf16 would each be rounded.
    const std::uint32_t sums = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    if (result.dtype == DType::bf16) preference.set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, sums);
  }

  /// Whether there is an algorithm that leaves the bias to whom `bias` says: the fastest, or the first.
  bool find(const Call& call, Bias bias, bool tries, const Place& place) {
    bias_ = is_trivial() && bias == Bias::by_library ? Bias::by_kernel : bias;
    is_in_scratch_ = bias_ == Bias::by_kernel && !is_gradient(call) && call[0].dtype == DType::bf16;
    own_bytes_ = own_bytes(call);
    if (is_trivial()) return true;
    const Operand result = result_of(call, nullptr);
    const Description description = description_of(call);
    const Layout a = layout_of_a(), b = layout_of_b(), out = layout_of(result);
    Preference preference;
    prefer(preference, call, result);
    std::array<cublasLtMatmulHeuristicResult_t, kMostAlgorithms> algorithms{};
    int found = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
        handle_, description.get(), b.get(), a.get(), out.get(), out.get(), preference.get(),
        tries ? kMostAlgorithms : 1, algorithms.data(), &found);
    if (status != CUBLAS_STATUS_SUCCESS || found == 0) return false;
    choose(call, std::span(algorithms).first(static_cast<std::size_t>(found)), place);
    return true;
  }

  /// The first where there is no room to try them.
  void choose(const Call& call, std::span<const cublasLtMatmulHeuristicResult_t> algorithms,
              const Place& place) try {
    float best_time = kNever;
    cublasLtMatmulHeuristicResult_t best = heuristic_ = algorithms.front();
    if (algorithms.size() == 1) return;
    const CudaMemory workspace(kMostProductWorkspace + own_bytes_);
    Operand result = call[0];
    if (is_in_scratch_) {
      result.dtype = DType::f32;
      result.data = static_cast<char*>(workspace.get()) + kMostProductWorkspace;
    }
    for (const cublasLtMatmulHeuristicResult_t& algorithm : algorithms) {
      heuristic_ = algorithm;
      const float time = milliseconds_of([&] { multiply(call, result, workspace.get(), place); },
                                         native(place.stream), best_time);
      if (time < best_time) best = algorithm;
      best_time = std::min(best_time, time);
    }
    heuristic_ = best;
  } catch (const GpuError& error) {
    if (error.outcome != Outcome::out_of_memory) throw;
    cudaGetLastError();
    heuristic_ = algorithms.front();
  }

  void multiply(const Call& call, const Operand& result, void* workspace, const Place& place) const {
    const Description description = description_of(call);
    const Layout a = layout_of_a(), b = layout_of_b(), out = layout_of(result);
    const double one = 1.0, zero = 0.0;
    const float one_f = 1.0f, zero_f = 0.0f;
    const bool is_double = compute_ == CUBLAS_COMPUTE_64F;
    const void* alpha = is_double ? static_cast<const void*>(&one) : &one_f;
    const void* beta = is_double ? static_cast<const void*>(&zero) : &zero_f;
    check_cublas(cublasLtMatmul(handle_, description.get(), alpha, b_of(call).data, b.get(), a_of(call).data,
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
  std::size_t own_bytes_ = 0;
  cublasLtHandle_t handle_;
  cublasLtMatmulHeuristicResult_t heuristic_{};
};

}  // namespace

std::unique_ptr<PlanTag> make_product_plan(const Call& call, const MathOptions& math, cublasLtHandle_t handle,
                                           const Place& place) {
  return std::make_unique<ProductPlan>(call, math, handle, place);
}

}  // namespace ronde::inline v0::cuda
