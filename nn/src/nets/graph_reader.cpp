// A Graph from its config: "layers" with the calls of each ("inbound_nodes"), "input_layers",
// "output_layers". Keras 2 writes a call as a list of [layer, call, result, arguments], Keras 3 as the
// arguments themselves.
#include <algorithm>
#include <map>
#include <optional>

#include <ronde/core/counted.h>
#include <ronde/nn/graph.h>
#include <ronde/nn/layer_factory.h>
#include <ronde/nn/multi_head_attention.h>
#include <ronde/nn/training_only.h>

#include "module/layer_config.h"
#include "nets/call_masks.h"
#include "nets/graph_operation.h"

namespace ronde::inline v0 {

namespace {

class GraphReader {
 public:
  explicit GraphReader(const LayerConfig& config) : config_(config) {}

  std::unique_ptr<Graph> read() {
    read_layers();
    read_calls();
    check_masks();
    const std::vector<CallReference> outputs = ends("output_layers");
    add_inputs(ends("input_layers"));
    mark_needed(outputs);
    add_calls();
    std::vector<Symbol> results;
    for (const CallReference& output : outputs) results.push_back(*call(output).result);
    give_out(results);
    find_places();
    return std::move(graph_);
  }

 private:
  [[noreturn]] void refuse(const char* key, const std::string& why) const { config_.refuse(key, why); }
  const ConfigList& list(const char* key) const {
    const ConfigValue* value = config_.find(key);
    if (value == nullptr || !value->is_list()) refuse(key, "expected a list");
    return value->as_list();
  }
  ConfigCall& call(const CallReference& reference) { return layers_[reference.layer].calls[reference.call]; }

  void read_layers() {
    for (const ConfigValue& entry : list("layers")) {
      const std::string& class_name = entry.at("class_name").as_string();
      const ConfigValue& inner = entry.at("config");
      const ConfigValue* name = entry.find("name");
      ConfigLayer layer{.name = (name ? *name : inner.at("name")).as_string(), .class_name = class_name};
      layer.is_input = class_name == "InputLayer";
      layer.is_functional = class_name == "Functional" || class_name == "Model";
      if (layer.is_input) {
        layer.calls.emplace_back();
      } else if (!is_operation(class_name)) {  // of which the call says more
        layer.module = layer_from_config(class_name, inner);
        if (layer.module->name().empty()) layer.module->set_name(without_slashes(layer.name));
        if (const ConfigValue* nested = inner.find("layers"); nested && nested->is_list())
          layer.has_input_layer =
              !nested->as_list().empty() && nested->as_list()[0].at("class_name").as_string() == "InputLayer";
      }
      if (!index_.emplace(layer.name, layers_.size()).second)
        refuse("layers", cat("two are called \"", layer.name, "\""));
      layers_.push_back(std::move(layer));
    }
  }

  /// How many calls of all layers there are must be known before one can be referred to; so first they are
  /// counted.
  void read_calls() {
    const ConfigList& entries = list("layers");
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      if (layers_[i].is_input) continue;
      const ConfigList& calls = entries[i].at("inbound_nodes").as_list();
      layers_[i].calls.resize(calls.size());
      is_keras3_ = is_keras3_ || (!calls.empty() && calls[0].is_dict());
    }
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      if (layers_[i].is_input) continue;
      const ConfigList& calls = entries[i].at("inbound_nodes").as_list();
      for (std::size_t k = 0; k < calls.size(); ++k)
        layers_[i].calls[k].inputs = read_inputs(layers_[i], layers_[i].calls[k], calls[k]);
    }
  }

  std::vector<CallReference> read_inputs(ConfigLayer& layer, ConfigCall& call, const ConfigValue& described) {
    if (dynamic_cast<MultiHeadAttention*>(layer.module.get())) return read_attention(layer, call, described);
    if (is_mask_operation(layer.class_name)) {
      call.number = number_among(described.at("args"));
      return tensors_among(layer, described.at("args"));
    }
    std::vector<CallReference> inputs;
    if (described.is_dict()) {
      const ConfigValue& arguments = described.at("args");
      const ConfigValue* rescaled = rescaled_argument(layer, arguments);
      require_layer(layer);
      collect_tensors(layer, rescaled ? *rescaled : arguments, inputs);
      const ConfigValue* named = described.find("kwargs");
      ConfigDict others = named ? named->as_dict() : ConfigDict();
      if (!is_attention(layer)) call.mask = take_input(layer, "mask", others);
      read_arguments(layer, others);
    } else {
      require_layer(layer);
      for (const ConfigValue& input : described.as_list()) {
        const ConfigList& parts = input.as_list();
        if (parts.size() > 4)
          refuse("inbound_nodes",
                 cat(call_of(layer), " has an input of ", counted(parts.size(), "entry", "entries"),
                     ", expected [layer, call, result, arguments]"));
        read_arguments(layer, parts.size() == 4 ? parts[3].as_dict() : ConfigDict());
        inputs.push_back(resolve(parts, false));
      }
    }
    if (inputs.empty()) refuse("inbound_nodes", cat(call_of(layer), " has no inputs"));
    return inputs;
  }

  /// Note [Arguments of calls]: a MultiHeadAttention takes several, its query, value and key, and
  /// `use_causal_mask`. Keras 3 notes them as it was given them, in "args" or by their names in "kwargs";
  /// Keras 2 the first as it does an only one, [layer, call, result, arguments], and all others by their
  /// names in these, results of layers as [layer, call, result]. Neither reads the other's, so no file suits
  /// both. In which of the two ways an input was given also decides in which order Keras finds the layers in
  /// front. (An Attention or AdditiveAttention takes one list, as an Add does.)
  std::vector<CallReference> read_attention(ConfigLayer& layer, ConfigCall& call,
                                            const ConfigValue& described) {
    ConfigDict arguments;
    std::size_t by_place = 0;
    const bool is_dict = described.is_dict();
    if (!is_dict && (described.as_list().size() != 1 || described.as_list()[0].as_list().size() != 4))
      refuse("inbound_nodes", cat(call_of(layer), " is not [[layer, call, result, arguments]]"));
    for (const ConfigValue& input : (is_dict ? described.at("args") : described).as_list()) {
      if (by_place == MultiHeadAttention::kInputNames.size())
        refuse("inbound_nodes", cat(call_of(layer), " has more than ", by_place, " inputs"));
      arguments.emplace_back(MultiHeadAttention::kInputNames[by_place++], input);
    }
    const ConfigValue& named = is_dict ? described.at("kwargs") : described.as_list()[0].as_list()[3];
    for (const auto& [name, value] : named.as_dict()) arguments.emplace_back(name, value);

    std::vector<CallReference> inputs;
    for (const char* name : MultiHeadAttention::kInputNames)
      if (const std::optional<CallReference> input = take_input(layer, name, arguments))
        inputs.push_back(*input);
      else if (inputs.size() < 2)
        refuse("inbound_nodes", cat(call_of(layer), " has no ", name));
    // Of three inputs by names the key comes first.
    const bool leads = inputs.size() == 3 && by_place == 0 && inputs[0] != inputs[1];
    while (!leads && inputs.size() > 1 && inputs.back() == inputs[inputs.size() - 2]) inputs.pop_back();
    if (inputs.size() == 3) call.by_place = by_place;
    read_arguments(layer, arguments);
    return inputs;
  }

  /// Out of the arguments of a call.
  std::optional<CallReference> take_input(const ConfigLayer& layer, const char* name,
                                          ConfigDict& arguments) const {
    const auto found = std::find_if(arguments.begin(), arguments.end(),
                                    [&](const auto& argument) { return argument.first == name; });
    if (found == arguments.end() || found->second.is_null()) return std::nullopt;
    const ConfigValue value = found->second;
    arguments.erase(found);
    return value.is_list() ? resolve(value.as_list(), false) : tensor(layer, value);
  }

  static bool is_attention(const ConfigLayer& layer) {
    return dynamic_cast<const AttentionLayer*>(layer.module.get()) != nullptr;
  }

  /// Those of a call that are no inputs.
  void read_arguments(ConfigLayer& layer, ConfigDict arguments) const {
    if (is_attention(layer)) take_causal(layer, arguments);
    check_arguments(layer, arguments);
  }

  /// What belongs to a call in Keras and to the layer here; out of the arguments of a call.
  void take_causal(ConfigLayer& layer, ConfigDict& arguments) const {
    bool is_causal = false;
    std::erase_if(arguments, [&](const auto& argument) {
      if (argument.first != "use_causal_mask")
        return argument.first == "return_attention_scores" && is_false(argument.second);
      is_causal = !argument.second.is_null() && argument.second.as_bool();
      return true;
    });
    if (layer.is_causal.value_or(is_causal) != is_causal)
      refuse("inbound_nodes",
             cat(call_of(layer), " has another use_causal_mask than the one before, which is not supported"));
    layer.is_causal = is_causal;
    dynamic_cast<AttentionLayer&>(*layer.module).set_use_causal_mask(is_causal);
  }

  /// Keras 2 notes inputs by their names that were given without, too. The order of its layers tells.
  void find_places() {
    const std::vector<Module*> by_names = graph_->layers_by(1), by_places = graph_->layers_by(3);
    if (is_keras3_ || by_names == by_places) return;
    std::vector<Module*> of_file;
    for (const ConfigLayer& layer : layers_)
      if (layer.placed) of_file.push_back(layer.placed);
    if (of_file != by_names && of_file != by_places)
      refuse("layers", "their order is not that of Keras, so it is not known whose weights are whose");
    if (of_file == by_names) return;
    for (const ConfigLayer& layer : layers_)
      for (const ConfigCall& call : layer.calls)
        if (call.result) graph_->set_by_place(*call.result, GraphNode().by_place);
  }

  static bool is_false(const ConfigValue& value) {
    const bool* const truth = std::get_if<bool>(&value.storage());
    return truth && !*truth;
  }

  /// Of a call with a number, for which `layer` becomes a Rescaling, the argument that is a layer's result;
  /// nullptr for other calls.
  static const ConfigValue* rescaled_argument(ConfigLayer& layer, const ConfigValue& arguments) {
    std::unique_ptr<Module> rescaling =
        layer.calls.size() == 1 ? as_rescaling(layer.class_name, arguments) : nullptr;
    if (rescaling == nullptr) return nullptr;
    layer.module = std::move(rescaling);
    layer.module->set_name(without_slashes(layer.name));
    const ConfigList& all = arguments.as_list();
    return &all[all[0].is_dict() ? 0 : 1];
  }

  /// An operation is one only of the calls that a Rescaling computes.
  void require_layer(const ConfigLayer& layer) const {
    if (layer.module == nullptr)
      refuse("inbound_nodes", cat("\"", layer.name, "\" is a ", layer.class_name,
                                  ", which is supported only of one layer's result, and by a number"));
  }

  static std::string call_of(const ConfigLayer& layer) {
    return cat("a call of the ", layer.class_name, " \"", layer.name, "\"");
  }

  /// Keras 3's positional arguments: tensors, and lists of them.
  void collect_tensors(const ConfigLayer& layer, const ConfigValue& value,
                       std::vector<CallReference>& inputs) const {
    if (value.is_list()) {
      for (const ConfigValue& entry : value.as_list()) collect_tensors(layer, entry, inputs);
      return;
    }
    inputs.push_back(tensor(layer, value));
  }

  std::vector<CallReference> tensors_among(const ConfigLayer& layer, const ConfigValue& values) const {
    std::vector<CallReference> tensors;
    for (const ConfigValue& value : values.as_list())
      if (value.is_dict()) tensors.push_back(tensor(layer, value));
    return tensors;
  }

  /// As Keras 3 notes the result of a layer.
  CallReference tensor(const ConfigLayer& layer, const ConfigValue& value) const {
    const bool is_tensor = value.is_dict() && value.find("class_name") && value.find("config") &&
                           value.at("class_name").as_string() == "__keras_tensor__";
    if (!is_tensor)
      refuse("inbound_nodes", cat(call_of(layer), " takes something that is not a layer's result"));
    return resolve(value.at("config").at("keras_history").as_list(), false);
  }

  /// None may change the result. Keras 3 notes "training": false of a Dropout, and true, the default, of its
  /// augmentations; `fit`, `evaluate` and `predict` pass their own instead.
  void check_arguments(const ConfigLayer& layer, const ConfigValue& arguments) const {
    const bool is_augmentation = dynamic_cast<const TrainingOnly*>(layer.module.get()) != nullptr;
    for (const auto& [key, value] : arguments.as_dict()) {
      if (value.is_null()) continue;
      if (is_keras3_ && key == "training" && (is_augmentation || !value.as_bool())) continue;
      refuse("inbound_nodes", cat(call_of(layer), " has the argument \"", key, "\", which is not supported"));
    }
  }

  void check_masks() const {
    for (const ConfigLayer& layer : layers_)
      for (const ConfigCall& next : layer.calls)
        if (next.mask && !is_mask_of_input(layers_, next))
          refuse("inbound_nodes",
                 cat(call_of(layer), " has another mask than that of its input, which is not supported"));
  }

  /// `is_end`: in input_layers or output_layers, where Keras 3 counts the calls of a nested net as Keras 2.
  CallReference resolve(const ConfigList& parts, bool is_end) const {
    if (parts.size() < 3)
      refuse("inbound_nodes",
             cat("expected [layer, call, result], found ", counted(parts.size(), "entry", "entries")));
    const auto found = index_.find(parts[0].as_string());
    if (found == index_.end())
      refuse("inbound_nodes", cat("there is no layer \"", parts[0].as_string(), "\""));
    const ConfigLayer& layer = layers_[found->second];
    // Note [Calls of nested nets]
    bool counts_from_one = layer.is_functional && (is_end || !is_keras3_);
    if (layer.has_input_layer && !layer.is_functional) counts_from_one = !is_keras3_;
    const std::int64_t number = parts[1].as_int() - (counts_from_one ? 1 : 0);
    if (number < 0 || number >= static_cast<std::int64_t>(layer.calls.size()))
      refuse("inbound_nodes", cat("\"", layer.name, "\" has no call ", parts[1].as_int()));
    if (parts[2].as_int() != 0)
      refuse("inbound_nodes", cat("\"", layer.name, "\" has one result, not ", parts[2].as_int() + 1));
    return {found->second, static_cast<std::size_t>(number)};
  }

  /// [[layer, 0, 0]], or [layer, 0, 0], or {"name": [layer, 0, 0]}
  void collect_ends(const ConfigValue& value, std::vector<CallReference>& ends) const {
    if (value.is_dict()) {
      for (const auto& [key, entry] : value.as_dict()) collect_ends(entry, ends);
    } else if (!value.as_list().empty() && value.as_list()[0].is_string()) {
      ends.push_back(resolve(value.as_list(), true));
    } else {
      for (const ConfigValue& entry : value.as_list()) collect_ends(entry, ends);
    }
  }

  std::vector<CallReference> ends(const char* key) const {
    const ConfigValue* value = config_.find(key);
    if (value == nullptr) refuse(key, "missing");
    std::vector<CallReference> found;
    collect_ends(*value, found);
    if (found.empty()) refuse(key, "is empty");
    return found;
  }

  /// By the names of a dict, if it is one with a result for each.
  void give_out(const std::vector<Symbol>& results) {
    const ConfigValue& outputs = *config_.find("output_layers");
    if (!outputs.is_dict() || outputs.as_dict().size() != results.size()) return graph_->output(results);
    std::vector<std::pair<std::string, Symbol>> named;
    for (const auto& [name, reference] : outputs.as_dict()) named.emplace_back(name, results[named.size()]);
    graph_->output(named);
  }

  void add_inputs(const std::vector<CallReference>& inputs) {
    for (const CallReference& input : inputs) {
      ConfigLayer& layer = layers_[input.layer];
      if (!layer.is_input) refuse("input_layers", cat("\"", layer.name, "\" is not an InputLayer"));
      const std::string name = without_slashes(layer.name);
      layer.calls[0].result =
          inputs.size() == 1 ? graph_->input(name) : graph_->input(name, input_shape(input));
    }
  }

  /// Of one of several InputLayers.
  Shape input_shape(const CallReference& input) const {
    const std::optional<Shape> shape = described_input_shape(list("layers")[input.layer].at("config"));
    const std::string which = cat("the shape of \"", layers_[input.layer].name, "\"");
    if (!shape) refuse("input_layers", which + " is missing");
    for (int axis = 0; axis < shape->rank(); ++axis)
      if ((*shape)[axis] == 0)
        refuse("input_layers",
               cat(which, " leaves axis ", axis + 1, " open, which only that of a net with one input may"));
    return *shape;
  }

  void mark_needed(std::vector<CallReference> open) {
    while (!open.empty()) {
      const CallReference now = open.back();
      ConfigCall& next = call(now);
      open.pop_back();
      if (next.is_needed) continue;
      next.is_needed = true;
      if (!layers_[now.layer].is_input) require_layer(layers_[now.layer]);
      open.insert(open.end(), next.inputs.begin(), next.inputs.end());
    }
  }

  /// In the order of the file, each as soon as its inputs are there; more than one round when a layer is
  /// called at several depths.
  void add_calls() {
    for (bool is_done = false; !is_done;) {
      bool has_advanced = false;
      is_done = true;
      for (ConfigLayer& layer : layers_) {
        for (ConfigCall& next : layer.calls) {
          if (!next.is_needed || next.result) continue;
          if (!add_call(layer, next)) {
            is_done = false;
            break;
          }
          has_advanced = true;
        }
      }
      if (!is_done && !has_advanced) refuse("inbound_nodes", "layers wait for each other's results");
    }
  }

  /// False when an input is not there yet.
  bool add_call(ConfigLayer& layer, ConfigCall& next) {
    std::vector<Symbol> inputs;
    for (const CallReference& input : next.inputs) {
      if (!call(input).result) return false;
      inputs.push_back(*call(input).result);
    }
    if (layer.placed == nullptr) {
      layer.placed = layer.module.get();
      next.result = graph_->add(std::move(layer.module), inputs);
    } else {
      next.result = graph_->add(*layer.placed, inputs);
    }
    graph_->set_by_place(*next.result, next.by_place);
    return true;
  }

  const LayerConfig& config_;
  std::unique_ptr<Graph> graph_ = std::make_unique<Graph>();
  std::vector<ConfigLayer> layers_;
  std::map<std::string, std::size_t> index_;
  bool is_keras3_ = false;
};

}  // namespace

template <>
std::unique_ptr<Module> read_layer<Graph>(const LayerConfig& config) {
  return GraphReader(config).read();
}

}  // namespace ronde::inline v0
