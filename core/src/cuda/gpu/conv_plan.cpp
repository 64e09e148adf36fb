#include "cuda/gpu/conv_plan.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include <cuda_runtime_api.h>

#include "cuda/gpu/conv_engines.h"
#include "cuda/gpu/conv_graph.h"
#include "cuda/gpu/cuda_resources.h"
#include "cuda/gpu/trials.h"
#include "cuda/takes_bfloat16.h"

namespace ronde::inline v0::cuda {

namespace {

constexpr std::int64_t kMostConvWorkspace = std::int64_t{256} << 20;
constexpr std::size_t kMostCandidates = 8, kMostCompiled = 3;

/// One engine, ready to run.
class Engine {
 public:
  Engine(const CudnnDescriptor& configuration, cudnnHandle_t handle)
      : plan_(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) {
    plan_.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle)
        .set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration)
        .finalize();
    workspace_ = plan_.get_int(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
  }

  std::int64_t workspace() const { return workspace_; }

  /// What a run is given: a call's operands and memory.
  static CudnnDescriptor pack(const std::vector<int>& operands, const Call& call, void* workspace) {
    std::vector<std::int64_t> ids;
    std::vector<void*> pointers;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (operands[i] < 0) continue;
      ids.push_back(static_cast<std::int64_t>(i) + 1);
      pointers.push_back(call[operands[i]].data);
    }
    const auto count = static_cast<std::int64_t>(ids.size());
    CudnnDescriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, count, pointers.data())
        .set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, count, ids.data())
        .set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace)
        .finalize();
    return pack;
  }

  void run(cudnnHandle_t handle, const CudnnDescriptor& pack) const {
    check_cudnn(cudnnBackendExecute(handle, plan_.get(), pack.get()), "running a convolution");
  }

 private:
  CudnnDescriptor plan_;
  std::int64_t workspace_ = 0;
};

struct Candidates {
  std::vector<Engine> engines;  ///< best recommended first
  std::string refusal;          ///< why there are none
};

/// Those that can be used, of which `is_right` tells by a run. Compiling one takes most of a second.
template <class IsRight>
Candidates usable_engines(const CudnnDescriptor& graph, const EngineRules& rules, std::size_t most_compiled,
                          cudnnHandle_t handle, const IsRight& is_right) {
  const std::size_t most = rules.math.engines == Engines::deterministic ? 1 : kMostCandidates;
  std::size_t compiled = 0;
  Candidates usable;
  for (const CudnnDescriptor& configuration : allowed_engines(graph, rules)) {
    if (usable.engines.size() == most) break;
    const bool is_compiled = is_compiled_at_run_time(configuration);
    if (is_compiled && compiled == most_compiled) continue;
    try {
      Engine engine(configuration, handle);
      compiled += is_compiled ? 1 : 0;
      if (engine.workspace() > kMostConvWorkspace) throw GpuError("it wants too much memory");
      if (!is_right(engine)) throw GpuError("what it computes is no such convolution");
      usable.engines.push_back(std::move(engine));
    } catch (const GpuError& error) {
      cudaGetLastError();
      usable.refusal = error.what();  // recommended, but not for this device
    }
  }
  if (usable.engines.empty() && usable.refusal.empty()) usable.refusal = why_no_engine(graph);
  return usable;
}

/// Far from the rounding that a mode asks for, near beside what is left out or counted twice.
ConvTolerance tolerance_of(const Call& call, const EngineRules& rules) {
  const bool rounds_factors = rules.math.mode == MathMode::tf32 && !rules.is_bfloat16;
  return {rounds_factors ? 0x1p-8 : 0x1p-14, call[0].dtype == DType::bf16 ? 0x1p-8 : 0x1p-20};
}

/// Note [Checked engines]: cuDNN 9.19 on an H100 computes some weights' gradients wrong, and says that it succeeded: of f32
/// its engine 1, where a side is padded otherwise than the opposite one, and of bf16 one that it compiles for 1x1 filters.
/// So each engine runs once on the call's operands, and a sample of what it wrote is held against the definition. Without
/// room for that it is believed.
bool gives_convolution(const Engine& engine, const std::vector<int>& operands, const Call& call,
                       const EngineRules& rules, cudnnHandle_t handle, cudaStream_t stream) try {
  const CudaMemory workspace(static_cast<std::size_t>(engine.workspace())), is_wrong(kConvSamples);
  engine.run(handle, Engine::pack(operands, call, workspace.get()));
  run_conv2d_check(call, tolerance_of(call, rules), static_cast<unsigned char*>(is_wrong.get()),
                   {reinterpret_cast<Stream>(stream), nullptr});
  std::array<unsigned char, kConvSamples> wrong{};
  check_cuda(cudaMemcpyAsync(wrong.data(), is_wrong.get(), wrong.size(), cudaMemcpyDeviceToHost, stream), "checking");
  check_cuda(cudaStreamSynchronize(stream), "checking a convolution");
  return std::none_of(wrong.begin(), wrong.end(), [](unsigned char is) { return is != 0; });
} catch (const GpuError& error) {
  if (error.outcome != Outcome::out_of_memory) throw;
  cudaGetLastError();
  return true;
}

std::size_t fastest(const std::vector<Engine>& engines, cudnnHandle_t handle,
                    const std::vector<int>& operands, const Call& call, cudaStream_t stream) {
  std::int64_t most = 0;
  for (const Engine& engine : engines) most = std::max(most, engine.workspace());
  const CudaMemory workspace(static_cast<std::size_t>(most));
  const CudnnDescriptor pack = Engine::pack(operands, call, workspace.get());
  std::size_t best = 0;
  float best_time = kNever;
  for (std::size_t i = 0; i < engines.size(); ++i) {
    const float time = milliseconds_of([&] { engines[i].run(handle, pack); }, stream, best_time);
    if (time >= best_time) continue;
    best_time = time;
    best = i;
  }
  if (best_time == kNever) throw GpuError("none of cuDNN's engines for a convolution runs");
  return best;
}

/// The fastest, or the first where there is no room to try them.
std::size_t choose(const std::vector<Engine>& engines, cudnnHandle_t handle, const std::vector<int>& operands,
                   const Call& call, cudaStream_t stream) {
  if (engines.size() == 1) return 0;
  try {
    return fastest(engines, handle, operands, call, stream);
  } catch (const GpuError& error) {
    if (error.outcome != Outcome::out_of_memory) throw;
    cudaGetLastError();
    return 0;
  }
}

std::size_t bias_bytes(const Call& call) {
  if (call.op != Op::conv2d_backward_weight || !call[1].defined) return 0;
  const std::int64_t channels = std::max<std::int64_t>(1, call[1].count());
  return bias_workspace(call[2].count() / channels, channels);
}

/// By one of cuDNN's engines. The gradient of a bias comes from our own kernel, in its own part of the
/// workspace behind cuDNN's.
class EnginePlan final : public PlanTag {
 public:
  EnginePlan(const Call& call, Engine engine, std::vector<int> operands, Cudnn& cudnn)
      : engine_(std::move(engine)), operands_(std::move(operands)), cudnn_(cudnn), bias_(bias_bytes(call)) {
    own_ = static_cast<std::size_t>((engine_.workspace() + 255) / 256 * 256);
  }

  std::size_t workspace() const override { return own_ + bias_; }
  void run(const Call& call, void* workspace, const Place& place) override {
    {
      const std::lock_guard lock(cudnn_.mutex);
      check_cudnn(cudnnSetStream(cudnn_.handle, native(place.stream)), "choosing a stream");
      engine_.run(cudnn_.handle, Engine::pack(operands_, call, workspace));
    }
    if (bias_ > 0) run_bias_gradient(call[1], call[2], static_cast<char*>(workspace) + own_, place);
  }

 private:
  Engine engine_;
  std::vector<int> operands_;
  Cudnn& cudnn_;
  std::size_t own_ = 0, bias_;
};

/// By our own kernels, which use the workspace one after the other.
class OwnPlan final : public PlanTag {
 public:
  using Kernels = void (*)(const Call&, void* workspace, const Place&);

  /// `remark`: why this is slow.
  OwnPlan(const Call& call, std::size_t workspace, Kernels enqueue, std::string remark = {})
      : enqueue_(enqueue),
        bias_(bias_bytes(call)),
        workspace_(std::max(workspace, bias_)),
        remark_(std::move(remark)) {}

  const char* remark() const override { return remark_.c_str(); }
  std::size_t workspace() const override { return workspace_; }
  void run(const Call& call, void* workspace, const Place& place) override {
    enqueue_(call, workspace, place);
    if (bias_ > 0) run_bias_gradient(call[1], call[2], workspace, place);
  }

 private:
  Kernels enqueue_;
  std::size_t bias_, workspace_;
  std::string remark_;
};

std::unique_ptr<PlanTag> few_taps_plan(const Call& call) {
  return std::make_unique<OwnPlan>(call, few_taps_workspace(call), run_few_taps);
}
std::unique_ptr<PlanTag> tiled_plan(const Call& call) {
  return std::make_unique<OwnPlan>(call, tiled_conv2d_workspace(call), run_tiled_conv2d);
}
std::unique_ptr<PlanTag> direct_plan(const Call& call, std::string why) {
  const auto kernels = [](const Call& c, void*, const Place& place) { run_direct_conv2d(c, place); };
  return std::make_unique<OwnPlan>(call, 0, kernels, std::move(why));
}

/// What cuDNN has for a convolution.
struct Found {
  std::optional<Engine> engine = {};
  std::vector<int> operands = {};
  std::string refusal = {};  ///< why there is none
};

Found find_engine(const Call& call, const MathOptions& math, std::size_t most_compiled, cudnnHandle_t handle,
                  cudaStream_t stream) {
  const ConvGraph graph = make_conv_graph(call);
  const EngineRules rules{math, has_bfloat16(call) || call.attributes.products == Products::rounded};
  const CudnnDescriptor operations = make_operation_graph(graph, handle);
  const auto is_right = [&](const Engine& engine) {
    return gives_convolution(engine, graph.operands, call, rules, handle, stream);
  };
  Candidates candidates = usable_engines(operations, rules, most_compiled, handle, is_right);
  const std::vector<Engine>& engines = candidates.engines;
  if (engines.empty()) {
    const bool any = math.engines == Engines::fastest;
    return {.refusal = (any ? "cuDNN has no engine: " : "cuDNN has no engine of the same bits each time: ") +
                       candidates.refusal};
  }
  Found found{.operands = graph.operands};
  found.engine.emplace(std::move(candidates.engines[choose(engines, handle, graph.operands, call, stream)]));
  return found;
}

/// Runs of an engine on a call's operands, with something ahead of each.
template <class Before>
float time_of(const Found& found, const Call& call, cudnnHandle_t handle, cudaStream_t stream,
              const Before& before) {
  const CudaMemory workspace(static_cast<std::size_t>(found.engine->workspace()));
  const CudnnDescriptor pack = Engine::pack(found.operands, call, workspace.get());
  const auto run = [&] {
    before();
    found.engine->run(handle, pack);
  };
  return milliseconds_of(run, stream);
}

/// The gradient of a weight whose sums stay floats. Of bf16 cuDNN has one engine for it, which it compiles
/// when a plan is made and which seems not to share sums out over the device; of float copies it has some
/// twenty, and what was bf16 is exact in TF32.
bool sums_in_float(const Call& call) {
  return call.op == Op::conv2d_backward_weight && multiplies_bfloat16(call) && call[0].dtype == DType::f32;
}

/// Float copies of what such a call reads.
class FloatCopies {
 public:
  explicit FloatCopies(const Call& call)
      : call_(call), wide_(call), grad_out_(bytes_of(call[2])), x_(bytes_of(call[3])) {
    wide_.tensors[2].data = grad_out_.get();
    wide_.tensors[3].data = x_.get();
    wide_.tensors[2].dtype = wide_.tensors[3].dtype = DType::f32;
    wide_.attributes.products = Products::rounded;
  }

  const Call& call() const { return wide_; }
  void make(const Place& place) const {
    for (const int i : {2, 3})
      run_kernel({.op = Op::copy, .outputs = 1, .operands = 2, .tensors = {wide_[i], call_[i]}}, place);
  }

 private:
  static std::size_t bytes_of(const Operand& x) {
    return static_cast<std::size_t>(x.reach()) * sizeof(float);
  }

  const Call& call_;
  Call wide_;
  CudaMemory grad_out_, x_;
};

/// By trial, the copying included, in both modes that go by trials.
bool is_faster_in_float(const Call& call, const Found& found, const MathOptions& math, cudnnHandle_t handle,
                        const Place& place) try {
  cudaStream_t const stream = native(place.stream);
  const FloatCopies copies(call);
  copies.make(place);
  const Found wide = find_engine(copies.call(), math, kMostCompiled, handle, stream);
  if (!wide.engine) return false;
  const float as_it_is = time_of(found, call, handle, stream, [] {});
  const float in_float = time_of(wide, copies.call(), handle, stream, [&] { copies.make(place); });
  return in_float < as_it_is;
} catch (const GpuError&) {
  cudaGetLastError();  // no room for the copies, or none of the engines for them runs
  return false;
}

/// By trial, in both modes that go by trials.
bool is_faster_by_tiles(const Call& call, const Found& found, cudnnHandle_t handle, const Place& place) try {
  if (!found.engine) return true;
  const CudaMemory workspace(tiled_conv2d_workspace(call));
  cudaStream_t const stream = native(place.stream);
  const float by_tiles = milliseconds_of([&] { run_tiled_conv2d(call, workspace.get(), place); }, stream);
  const float by_cudnn = time_of(found, call, handle, stream, [] {});
  return by_tiles < by_cudnn;
} catch (const GpuError&) {
  cudaGetLastError();  // no room for a trial
  return false;
}

}  // namespace

std::unique_ptr<PlanTag> make_conv_plan(const Call& call, const MathOptions& math, Cudnn& cudnn,
                                        const Place& place) {
  if (has_few_taps(call)) return few_taps_plan(call);
  const bool has_tiles = math.mode == MathMode::f32 && has_tiled_conv2d(call);
  if (has_tiles && (math.engines == Engines::deterministic || !is_for_cudnn(call))) return tiled_plan(call);
  if (!is_for_cudnn(call)) return direct_plan(call, "cuDNN has none for such a convolution");
  const std::lock_guard lock(cudnn.mutex);
  check_cudnn(cudnnSetStream(cudnn.handle, native(place.stream)), "choosing a stream");
  // Without a trial: what is compiled may be there or not, and one process has to do as the other.
  if (math.engines == Engines::deterministic && sums_in_float(call))
    throw GpuError("cuDNN shares their sums out over the device", Outcome::better_in_float);
  // Where there are tiles, what is compiled has not been faster, and each takes most of a second.
  const std::size_t most_compiled = has_tiles ? 0 : kMostCompiled;
  Found found = find_engine(call, math, most_compiled, cudnn.handle, native(place.stream));
  if (has_tiles && is_faster_by_tiles(call, found, cudnn.handle, place)) return tiled_plan(call);
  // Of float copies there may be one.
  if (!found.engine && has_bfloat16(call)) throw GpuError(found.refusal);
  if (sums_in_float(call) && is_faster_in_float(call, found, math, cudnn.handle, place))
    throw GpuError("cuDNN was faster with them", Outcome::better_in_float);
  if (!found.engine) return direct_plan(call, std::move(found.refusal));
  return std::make_unique<EnginePlan>(call, std::move(*found.engine), std::move(found.operands), cudnn);
}

}  // namespace ronde::inline v0::cuda
