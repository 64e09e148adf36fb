#include "cuda/gpu/conv_engines.h"

#include <algorithm>
#include <utility>

namespace ronde::inline v0::cuda {

namespace {

/// Computes any convolution, slowly; recommended first here and there.
constexpr std::int64_t kGenericEngine = 0;

std::size_t read(const CudnnDescriptor& whole, cudnnBackendAttributeName_t name, std::size_t room,
                 cudnnBackendDescriptor_t* handles) {
  std::int64_t count = 0;
  check_cudnn(cudnnBackendGetAttribute(whole.get(), name, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                       static_cast<std::int64_t>(room), &count, handles),
              "reading descriptors");
  return static_cast<std::size_t>(count);
}

/// What an attribute of `whole` holds, at most so many descriptors of this type.
std::vector<CudnnDescriptor> parts_of(const CudnnDescriptor& whole, cudnnBackendAttributeName_t name,
                                      cudnnBackendDescriptorType_t type, std::size_t most) {
  std::vector<CudnnDescriptor> parts;
  std::vector<cudnnBackendDescriptor_t> handles;
  while (parts.size() < most) handles.push_back(parts.emplace_back(type).get());
  const std::size_t count = most > 0 ? read(whole, name, most, handles.data()) : 0;
  while (parts.size() > count) parts.pop_back();
  return parts;
}

/// All of them: those for plain floats may stand behind some thirty for tensor cores.
std::vector<CudnnDescriptor> recommended(const CudnnDescriptor& graph, cudnnBackendHeurMode_t mode,
                                         const CudnnDescriptor* device) {
  CudnnDescriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph)
      .set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
  if (device) heuristics.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, *device);
  heuristics.finalize();
  const auto name = CUDNN_ATTR_ENGINEHEUR_RESULTS;
  return parts_of(heuristics, name, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, read(heuristics, name, 0, nullptr));
}

CudnnDescriptor engine_of(const CudnnDescriptor& configuration) {
  return std::move(
      parts_of(configuration, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR, 1).at(0));
}

/// What a plan is made of: an engine, and what was chosen where it leaves a choice.
struct Setting {
  std::int64_t engine = 0;
  std::vector<std::pair<int, std::int64_t>> choices = {};

  explicit Setting(const CudnnDescriptor& configuration) : engine(number_of_engine(configuration)) {
    for (const CudnnDescriptor& choice :
         parts_of(configuration, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR,
                  CUDNN_KNOB_TYPE_COUNTS)) {
      cudnnBackendKnobType_t knob{};
      std::int64_t count = 0;
      check_cudnn(cudnnBackendGetAttribute(choice.get(), CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE,
                                           CUDNN_TYPE_KNOB_TYPE, 1, &count, &knob),
                  "reading a choice");
      choices.emplace_back(knob, choice.get_int(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE));
    }
    std::sort(choices.begin(), choices.end());
  }
};

/// Without choices of its own an engine takes those that were recommended for it: its plan would be one that
/// is there, and compiling it takes a second.
bool is_repeat(const Setting& setting, const std::vector<Setting>& known) {
  return std::any_of(known.begin(), known.end(), [&](const Setting& other) {
    return other.engine == setting.engine && (setting.choices.empty() || other.choices == setting.choices);
  });
}

/// Whether an engine has a note; `name` is of the attribute that holds notes of this kind, at most `most`.
template <class Note>
bool has_note(const CudnnDescriptor& configuration, cudnnBackendAttributeName_t name,
              cudnnBackendAttributeType_t type, std::size_t most, Note note) {
  const CudnnDescriptor engine = engine_of(configuration);
  std::int64_t count = 0;
  std::vector<Note> notes(most);
  check_cudnn(cudnnBackendGetAttribute(engine.get(), name, type, static_cast<std::int64_t>(most), &count,
                                       notes.data()),
              "reading an engine's notes");
  return std::find(notes.begin(), notes.begin() + count, note) != notes.begin() + count;
}

/// Whether it would take the graph, all choices being its own.
cudnnStatus_t status_of_engine(const CudnnDescriptor& graph, std::int64_t number,
                               const CudnnDescriptor* device) {
  CudnnDescriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  engine.set(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph).set(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, {number});
  if (device) engine.set(CUDNN_ATTR_ENGINE_DEVICEPROP, *device);
  const cudnnStatus_t status = cudnnBackendFinalize(engine.get());
  if (status != CUDNN_STATUS_SUCCESS) return status;
  CudnnDescriptor configuration(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  configuration.set(CUDNN_ATTR_ENGINECFG_ENGINE, engine);
  return cudnnBackendFinalize(configuration.get());
}

// Of bf16 tensor cores lose nothing, also where it is stored as floats: a product is exact.
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
  std::vector<CudnnDescriptor> allowed, generic;
  std::vector<Setting> known;
  for (const auto mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    std::vector<CudnnDescriptor> engines;
    try {
      engines = recommended(graph, mode, device);
    } catch (const GpuError&) {
      continue;  // of this mode there are none
    }
    for (CudnnDescriptor& engine : engines) {
      Setting setting(engine);
      if (!may_use(engine, rules) || is_repeat(setting, known)) continue;
      (setting.engine == kGenericEngine ? generic : allowed).push_back(std::move(engine));
      known.push_back(std::move(setting));
    }
  }
  for (CudnnDescriptor& engine : generic) allowed.push_back(std::move(engine));
  return allowed;
}

std::string why_no_engine(const CudnnDescriptor& graph, const CudnnDescriptor* device) try {
  const std::int64_t engines = graph.get_int(CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT);
  for (std::int64_t number = 0; number < engines; ++number)
    if (status_of_engine(graph, number, device) == CUDNN_STATUS_NOT_SUPPORTED_RUNTIME_PREREQUISITE_MISSING)
      return "it cannot compile one without libnvrtc, libcuda and libcudnn_engines_runtime_compiled";
  const bool is_empty = recommended(graph, CUDNN_HEUR_MODE_A, device).empty();
  return is_empty ? "it recommends none" : "what it recommends may not be used";
} catch (const GpuError& error) {
  return error.what();
}

std::int64_t number_of_engine(const CudnnDescriptor& configuration) {
  return engine_of(configuration).get_int(CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
}

bool is_compiled_at_run_time(const CudnnDescriptor& configuration) {
  return has_note(configuration, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE,
                  CUDNN_BEHAVIOR_NOTE_TYPE_COUNT, CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION);
}

}  // namespace ronde::inline v0::cuda
