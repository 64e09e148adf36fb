#include "keras_file/plain_model.h"

#include <bit>
#include <charconv>

#include <ronde/models/safetensors.h>

#include "json/json.h"
#include "weights/saved_run.h"

namespace ronde::inline v0 {

namespace {

/// 64 bits as they are: JSON has neither unsigned integers of this size nor NaN.
std::uint64_t parse_bits(const std::string& text) {
  std::uint64_t bits = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bits);
  require<InputError>(error == std::errc() && end == text.data() + text.size(), "\"", text,
                      "\" is no number");
  return bits;
}

class Writer {
 public:
  /// The names; the arrays are numbered in the order in which they come.
  ConfigValue add(const std::vector<SavedWeight>& weights) {
    ConfigList names;
    for (const SavedWeight& weight : weights) {
      names.emplace_back(weight.name);
      add(weight.values);
    }
    return names;
  }
  void add(const Tensor& values) {
    const std::string number = std::to_string(file_.tensors.size());
    file_.tensors.emplace(number, values);
  }
  void add_text(const char* key, const ConfigValue& value) { file_.metadata[key] = to_json(value); }
  std::string finish() const { return encode_safetensors(file_); }

 private:
  Safetensors file_;
};

class PlainReader {
 public:
  explicit PlainReader(std::string_view bytes) : file_(decode_safetensors(bytes, "its content")) {}

  std::vector<SavedWeight> take(const ConfigValue& names) {
    std::vector<SavedWeight> weights;
    for (const ConfigValue& name : names.as_list()) weights.push_back({name.as_string(), take()});
    return weights;
  }
  Tensor take() {
    const auto found = file_.tensors.find(std::to_string(next_++));
    require<InputError>(found != file_.tensors.end(), "an array is missing");
    return found->second;
  }
  bool has(const char* key) const { return file_.metadata.count(key) > 0; }
  ConfigValue text(const char* key) const {
    const auto found = file_.metadata.find(key);
    require<InputError>(found != file_.metadata.end(), key, " is missing");
    return from_json(found->second);
  }

 private:
  Safetensors file_;
  std::size_t next_ = 0;
};

ConfigValue pack_optimizer(Writer& writer, const SavedOptimizer& optimizer) {
  ConfigList slots;
  for (const SavedSlot& slot : optimizer.slots)
    slots.push_back(ConfigDict{{"name", slot.name}, {"weights", writer.add(slot.weights)}});
  return ConfigDict{{"name", optimizer.name},
                    {"iterations", optimizer.iterations},
                    {"rate", std::to_string(std::bit_cast<std::uint64_t>(optimizer.learning_rate))},
                    {"slots", slots}};
}

SavedOptimizer unpack_optimizer(PlainReader& reader, const ConfigValue& packed) {
  SavedOptimizer optimizer{.name = packed.at("name").as_string(),
                           .iterations = packed.at("iterations").as_int(),
                           .learning_rate = std::bit_cast<double>(parse_bits(packed.at("rate").as_string())),
                           .slots = {}};
  for (const ConfigValue& slot : packed.at("slots").as_list())
    optimizer.slots.push_back({slot.at("name").as_string(), reader.take(slot.at("weights"))});
  return optimizer;
}

void write_state(Writer& writer, const SavedState& state) {
  writer.add_text("state", ConfigDict{{"epochs", state.epochs},
                                      {"steps", state.steps},
                                      {"seed", std::to_string(state.seed)},
                                      {"settings", state.optimizer_settings}});
  if (state.optimizer) writer.add_text("optimizer", pack_optimizer(writer, *state.optimizer));
  if (!state.run) return;
  const PackedRun run = pack_run(*state.run);
  writer.add_text("run", run.tree);
  for (const Tensor& values : run.tensors) writer.add(values);
}

SavedState read_state(PlainReader& reader) {
  const ConfigValue packed = reader.text("state");
  SavedState state{.epochs = packed.at("epochs").as_int(),
                   .steps = packed.at("steps").as_int(),
                   .seed = parse_bits(packed.at("seed").as_string()),
                   .optimizer = {},
                   .optimizer_settings = packed.at("settings").as_dict()};
  if (reader.has("optimizer")) state.optimizer = unpack_optimizer(reader, reader.text("optimizer"));
  if (!reader.has("run")) return state;
  state.run = unpack_run(reader.text("run"));
  for (SavedWeight* weight : tensors_of(*state.run)) weight->values = reader.take();
  return state;
}

}  // namespace

std::string encode_plain_model(const SavedModel& model) {
  Writer writer;
  ConfigList layers;
  for (const SavedLayer& layer : model.layers)
    layers.push_back(ConfigDict{{"name", layer.name}, {"weights", writer.add(layer.weights)}});
  writer.add_text("layout", model.layout == SavedLayout::weights_h5);
  writer.add_text("keras_version", model.keras_version);
  writer.add_text("model_config", model.model_config);
  writer.add_text("training_config", model.training_config);
  writer.add_text("layers", layers);
  writer.add_text("optimizer_weights", writer.add(model.optimizer_weights));
  if (model.state) write_state(writer, *model.state);
  return writer.finish();
}

SavedModel decode_plain_model(std::string_view bytes) {
  PlainReader reader(bytes);
  SavedModel model;
  if (reader.text("layout").as_bool()) model.layout = SavedLayout::weights_h5;
  model.keras_version = reader.text("keras_version").as_string();
  model.model_config = reader.text("model_config");
  model.training_config = reader.text("training_config");
  const ConfigValue layers = reader.text("layers");
  for (const ConfigValue& layer : layers.as_list())
    model.layers.push_back({layer.at("name").as_string(), reader.take(layer.at("weights"))});
  model.optimizer_weights = reader.take(reader.text("optimizer_weights"));
  if (reader.has("state")) model.state = read_state(reader);
  return model;
}

}  // namespace ronde::inline v0
