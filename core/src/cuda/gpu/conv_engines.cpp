#include "cuda/gpu/conv_engines.h"

#include <algorithm>
#include <utility>

namespace ronde::inline v0::cuda {

namespace {

/// All of them: those for plain floats may stand behind some thirty for tensor cores.
std::vector<CudnnDescriptor> recommended(const CudnnDescriptor& graph, cudnnBackendHeurMode_t mode,
                                         const CudnnDescriptor* device) {
  CudnnDescriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph)
      .set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
  if (device) heuristics.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, *device);
  heuristics.finalize();
  const auto ask = [&](std::int64_t room, cudnnBackendDescriptor_t* handles) {
    std::int64_t count = 0;
    check_cudnn(cudnnBackendGetAttribute(heuristics.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                         CUDNN_TYPE_BACKEND_DESCRIPTOR, room, &count, handles),
                "asking for engines");
    return static_cast<std::size_t>(count);
  };
  std::vector<CudnnDescriptor> engines;
  std::vector<cudnnBackendDescriptor_t> handles;
  for (std::size_t left = ask(0, nullptr); left > 0; --left)
    handles.push_back(engines.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR).get());
  if (handles.empty()) return engines;
  const std::size_t count = ask(static_cast<std::int64_t>(handles.size()), handles.data());
  while (engines.size() > count) engines.pop_back();
  return engines;
}

/// Whether an engine has a note; `name` is of the attribute that holds notes of this kind, at most `most`.
template <class Note>
bool has_note(const CudnnDescriptor& configuration, cudnnBackendAttributeName_t name,
              cudnnBackendAttributeType_t type, std::size_t most, Note note) {
  CudnnDescriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t handle = engine.get();
  std::int64_t count = 0;
  check_cudnn(cudnnBackendGetAttribute(configuration.get(), CUDNN_ATTR_ENGINECFG_ENGINE,
                                       CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &handle),
              "reading an engine");
  std::vector<Note> notes(most);
  check_cudnn(cudnnBackendGetAttribute(engine.get(), name, type, static_cast<std::int64_t>(most), &count,
                                       notes.data()),
              "reading an engine's notes");
  return std::find(notes.begin(), notes.begin() + count, note) != notes.begin() + count;
}

// Of bf16 tensor cores lose nothing.
bool may_use(const CudnnDescriptor& configuration, const EngineRules& rules) {
  const auto has = [&](cudnnBackendNumericalNote_t note) {
    return has_note(configuration, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                    CUDNN_NUMERICAL_NOTE_TYPE_COUNT, note);
  };
  if (rules.math.engines != Engines::fastest && has(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC)) return false;
  if (!rules.is_bfloat16 && rules.math.mode == MathMode::tf32) return true;
  for (const auto note :
       {CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS, CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION,
        CUDNN_NUMERICAL_NOTE_WINOGRAD, CUDNN_NUMERICAL_NOTE_FFT})
    if (has(note)) return false;
  return rules.is_bfloat16 || !has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
}

}  // namespace

std::vector<CudnnDescriptor> allowed_engines(const CudnnDescriptor& graph, const EngineRules& rules,
                                             const CudnnDescriptor* device) {
  std::vector<CudnnDescriptor> allowed;
  for (const auto mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    std::vector<CudnnDescriptor> engines;
    try {
      engines = recommended(graph, mode, device);
    } catch (const GpuError&) {
      continue;  // of this mode there are none
    }
    for (CudnnDescriptor& engine : engines)
      if (may_use(engine, rules)) allowed.push_back(std::move(engine));
  }
  return allowed;
}

bool is_compiled_at_run_time(const CudnnDescriptor& configuration) {
  return has_note(configuration, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE,
                  CUDNN_BEHAVIOR_NOTE_TYPE_COUNT, CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION);
}

}  // namespace ronde::inline v0::cuda
