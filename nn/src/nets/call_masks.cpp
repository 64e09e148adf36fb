#include "nets/call_masks.h"

#include <set>

#include <ronde/nn/attention_layer.h>

#include "nets/graph_operation.h"

namespace ronde::inline v0 {

namespace {

/// Where a mask comes from: a result, and the value of it that is left out.
struct MaskSource {
  CallReference result;
  double value;
};

/// The calls of a config, in which anything may refer to anything.
class CallMasks {
 public:
  explicit CallMasks(const std::vector<ConfigLayer>& layers) : layers_(layers) {}

  /// What made the mask of a result, if that has one.
  std::optional<MaskSource> source_of(CallReference result) const {
    for (std::set<CallReference> seen; seen.insert(result).second;) {
      const Module* const module = layers_[result.layer].module.get();
      const std::vector<CallReference>& inputs = inputs_of(result);
      if (module == nullptr || inputs.empty()) break;
      if (const std::optional<double> value = masked_value(*module))
        return MaskSource{inputs.front(), *value};
      if (!module->keeps_mask() && dynamic_cast<const AttentionLayer*>(module) == nullptr) break;
      result = inputs.front();
    }
    return std::nullopt;
  }

  /// Whether operations made a mask of `source` and of nothing else.
  bool is_made_of(const MaskSource& source, const CallReference& mask) const {
    std::set<CallReference> seen;
    bool is_made = false;
    for (std::vector<CallReference> open{mask}; !open.empty();) {
      const CallReference next = open.back();
      open.pop_back();
      if (!seen.insert(next).second) continue;
      const std::string& operation = layers_[next.layer].class_name;
      const std::vector<CallReference>& inputs = inputs_of(next);
      const bool compares = operation == "NotEqual";
      if (!is_mask_operation(operation)) return false;
      if (compares && (inputs != std::vector{source.result} || call_of(next).number != source.value))
        return false;
      is_made = is_made || compares;
      if (!compares) open.insert(open.end(), inputs.begin(), inputs.end());
    }
    return is_made;
  }

 private:
  const ConfigCall& call_of(const CallReference& call) const { return layers_[call.layer].calls[call.call]; }
  const std::vector<CallReference>& inputs_of(const CallReference& call) const {
    return call_of(call).inputs;
  }

  const std::vector<ConfigLayer>& layers_;
};

}  // namespace

bool is_mask_of_input(const std::vector<ConfigLayer>& layers, const ConfigCall& call) {
  const CallMasks masks(layers);
  const std::optional<MaskSource> source = masks.source_of(call.inputs.front());
  return source && masks.is_made_of(*source, *call.mask);
}

}  // namespace ronde::inline v0
