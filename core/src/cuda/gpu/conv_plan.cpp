#include "cuda/gpu/conv_plan.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include <cuda_runtime_api.h>

#include "cuda/gpu/conv_graph.h"
#include "cuda/gpu/cuda_resources.h"
#include "cuda/takes_bfloat16.h"

namespace ronde::inline v0::cuda {

namespace {

constexpr std::int64_t kMostConvWorkspace = std::int64_t{256} << 20;
constexpr std::size_t kMostCandidates = 8;
constexpr int kTrials = 3;  // of each; the fastest counts

std::vector<CudnnDescriptor> recommended(const CudnnDescriptor& graph, cudnnBackendHeurMode_t mode) {
  CudnnDescriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph)
      .set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode)
      .finalize();
  std::vector<CudnnDescriptor> engines;
  std::vector<cudnnBackendDescriptor_t> handles;
  for (std::size_t i = 0; i < kMostCandidates; ++i)
    handles.push_back(engines.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR).get());
  std::int64_t count = 0;
  check_cudnn(
      cudnnBackendGetAttribute(heuristics.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                               static_cast<std::int64_t>(handles.size()), &count, handles.data()),
      "asking for engines");
  while (engines.size() > static_cast<std::size_t>(count)) engines.pop_back();
  return engines;
}

bool has_note(const CudnnDescriptor& configuration, cudnnBackendNumericalNote_t note) {
  CudnnDescriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t handle = engine.get();
  std::int64_t count = 0;
  check_cudnn(cudnnBackendGetAttribute(configuration.get(), CUDNN_ATTR_ENGINECFG_ENGINE,
                                       CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &handle),
              "reading an engine");
  std::vector<cudnnBackendNumericalNote_t> notes(CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
  check_cudnn(
      cudnnBackendGetAttribute(engine.get(), CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                               CUDNN_NUMERICAL_NOTE_TYPE_COUNT, &count, notes.data()),
      "reading an engine's notes");
  return std::find(notes.begin(), notes.begin() + count, note) != notes.begin() + count;
}

/// Which engines a call may have.
struct Choice {
  MathOptions math;
  bool is_bfloat16;
};

// Of bf16 tensor cores lose nothing.
bool may_use(const CudnnDescriptor& configuration, const Choice& choice) {
  const auto has = [&](cudnnBackendNumericalNote_t note) { return has_note(configuration, note); };
  if (choice.math.deterministic && has(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC)) return false;
  if (!choice.is_bfloat16 && choice.math.mode == MathMode::tf32) return true;
  for (const auto note :
       {CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS, CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION,
        CUDNN_NUMERICAL_NOTE_WINOGRAD, CUDNN_NUMERICAL_NOTE_FFT})
    if (has(note)) return false;
  return choice.is_bfloat16 || !has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
}

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

  void run(cudnnHandle_t handle, const std::vector<int>& operands, const Call& call, void* workspace) const {
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
    check_cudnn(cudnnBackendExecute(handle, plan_.get(), pack.get()), "running a convolution");
  }

 private:
  CudnnDescriptor plan_;
  std::int64_t workspace_ = 0;
};

/// Milliseconds of the fastest of a few runs.
float time_of(const Engine& engine, cudnnHandle_t handle, const std::vector<int>& operands, const Call& call,
              void* workspace, cudaStream_t stream) {
  const CudaEvent begin, end;
  float best = std::numeric_limits<float>::infinity();
  for (int trial = 0; trial < kTrials; ++trial) {
    check_cuda(cudaEventRecord(begin.get(), stream), "timing");
    engine.run(handle, operands, call, workspace);
    check_cuda(cudaEventRecord(end.get(), stream), "timing");
    check_cuda(cudaEventSynchronize(end.get()), "timing");
    float milliseconds = 0;
    check_cuda(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()), "timing");
    best = std::min(best, milliseconds);
  }
  return best;
}

/// Those that can be used, best recommended first.
std::vector<Engine> usable_engines(const CudnnDescriptor& graph, const Choice& choice, cudnnHandle_t handle) {
  std::vector<Engine> usable;
  for (const auto mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    std::vector<CudnnDescriptor> configurations;
    try {
      configurations = recommended(graph, mode);
    } catch (const GpuError&) {
      continue;  // of this mode there are none
    }
    for (const CudnnDescriptor& configuration : configurations) {
      try {
        if (!may_use(configuration, choice)) continue;
        Engine engine(configuration, handle);
        if (engine.workspace() <= kMostConvWorkspace) usable.push_back(std::move(engine));
      } catch (const GpuError&) {
        continue;  // recommended, but not for this device
      }
    }
    if (!usable.empty()) break;
  }
  return usable;
}

std::size_t fastest(const std::vector<Engine>& engines, cudnnHandle_t handle,
                    const std::vector<int>& operands, const Call& call, cudaStream_t stream) {
  std::int64_t most = 0;
  for (const Engine& engine : engines) most = std::max(most, engine.workspace());
  const CudaMemory workspace(static_cast<std::size_t>(most));
  std::size_t best = 0;
  float best_time = std::numeric_limits<float>::infinity();
  for (std::size_t i = 0; i < engines.size(); ++i) {
    const float time = time_of(engines[i], handle, operands, call, workspace.get(), stream);
    if (time < best_time) {
      best_time = time;
      best = i;
    }
  }
  return best;
}

/// The gradient of a bias comes from our own kernel, in its own part of the workspace behind cuDNN's.
class ConvPlan final : public PlanTag {
 public:
  ConvPlan(const Call& call, std::optional<Engine> engine, std::vector<int> operands, Cudnn& cudnn)
      : engine_(std::move(engine)), operands_(std::move(operands)), cudnn_(cudnn) {
    const std::int64_t own = engine_ ? engine_->workspace() : 0;
    own_ = static_cast<std::size_t>((own + 255) / 256 * 256);
    if (call.op != Op::conv2d_backward_weight || !call[1].defined) return;
    const std::int64_t channels = std::max<std::int64_t>(1, call[1].count());
    bias_ = bias_workspace(call[2].count() / channels, channels);
  }

  const char* remark() const override { return engine_ ? "" : "cuDNN has none for such a convolution"; }
  std::size_t workspace() const override { return own_ + bias_; }

  void run(const Call& call, void* workspace, const Place& place) override {
    if (engine_) {
      const std::lock_guard lock(cudnn_.mutex);
      check_cudnn(cudnnSetStream(cudnn_.handle, native(place.stream)), "choosing a stream");
      engine_->run(cudnn_.handle, operands_, call, workspace);
    } else {
      run_direct_conv2d(call, place);
    }
    if (bias_ > 0) run_bias_gradient(call[1], call[2], static_cast<char*>(workspace) + own_, place);
  }

 private:
  std::optional<Engine> engine_;
  std::vector<int> operands_;
  Cudnn& cudnn_;
  std::size_t own_ = 0, bias_ = 0;
};

}  // namespace

std::unique_ptr<PlanTag> make_conv_plan(const Call& call, const MathOptions& math, Cudnn& cudnn,
                                        const Place& place) {
  const std::lock_guard lock(cudnn.mutex);
  cudnnHandle_t const handle = cudnn.handle;
  std::optional<Engine> chosen;
  std::vector<int> operands;
  if (is_for_cudnn(call)) {
    const ConvGraph graph = make_conv_graph(call);
    operands = graph.operands;
    check_cudnn(cudnnSetStream(handle, native(place.stream)), "choosing a stream");
    const Choice choice{math, has_bfloat16(call)};
    std::vector<Engine> engines = usable_engines(make_operation_graph(graph, handle), choice, handle);
    // Of float copies there may be one.
    if (engines.empty() && choice.is_bfloat16)
      throw GpuError("cuDNN has no engine for a convolution of bf16");
    if (!engines.empty()) {
      const bool tries = !math.deterministic && engines.size() > 1;
      const std::size_t best = tries ? fastest(engines, handle, operands, call, native(place.stream)) : 0;
      chosen.emplace(std::move(engines[best]));
    }
  }
  return std::make_unique<ConvPlan>(call, std::move(chosen), std::move(operands), cudnn);
}

}  // namespace ronde::inline v0::cuda
