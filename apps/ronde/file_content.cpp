#include "ronde/file_content.h"

#include <algorithm>
#include <cstddef>

#include <ronde/core/counted.h>
#include <ronde/core/error.h>
#include <ronde/core/sha256.h>
#include <ronde/data/npz.h>
#include <ronde/models/file_io.h>
#include <ronde/models/safetensors.h>
#include <ronde/models/saved_model.h>
#include <ronde/models/seal.h>

namespace ronde::apps {
namespace {

/// "conv2d/kernel" of "conv2d/kernel:0" and, in files of Keras 3, of "sequential/conv2d/kernel".
std::string weight_name(const SavedLayer& layer, const SavedWeight& weight) {
  const std::string name = weight.name.substr(0, weight.name.rfind(':'));
  if (name.starts_with(layer.name + "/")) return name;
  return cat(layer.name, "/", name.substr(name.rfind('/') + 1));
}

/// As `Model::weights_sha256` computes it: names in order, each followed by NUL and little-endian f32 values.
std::string weights_sha256(std::vector<NamedTensor> tensors) {
  std::sort(tensors.begin(), tensors.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  Sha256 hash;
  for (const auto& [name, values] : tensors) {
    hash.update(name);
    hash.update(std::string_view("\0", 1));
    const std::vector<float> floats = values.to_vector<float>();
    hash.update(floats.data(), floats.size() * sizeof(float));
  }
  return hash.hex();
}

std::string class_of(const ConfigValue& config) {
  const ConfigValue* name = config.is_dict() ? config.find("class_name") : nullptr;
  return name != nullptr && name->is_string() ? name->as_string() : "";
}

void describe_state(const SavedState& state, BannerLines& lines) {
  lines.push_back({"epoch", cat(grouped(state.epochs), " finished")});
  lines.push_back({"step", grouped(state.steps)});
  lines.push_back({"seed", cat(state.seed)});
  if (state.run && !state.run->stopped)
    lines.push_back({"goes on", cat("with step ", grouped(state.run->epoch_step + 1), " of epoch ",
                                    state.run->epoch + 1)});
  if (!state.optimizer) return;
  std::string slots;
  for (const SavedSlot& slot : state.optimizer->slots) slots += (slots.empty() ? "" : ", ") + slot.name;
  lines.push_back({"optimizer", cat(state.optimizer->name, ", ", counted(state.optimizer->iterations, "step"),
                                    ", learning rate ", state.optimizer->learning_rate,
                                    slots.empty() ? "" : "; state: " + slots)});
}

FileContent model_content(const std::string& bytes, const std::string& path) {
  const SavedModel model = decode_saved_model(bytes, path);
  FileContent content;
  for (const SavedLayer& layer : model.layers)
    for (const SavedWeight& weight : layer.weights)
      content.tensors.push_back({weight_name(layer, weight), weight.values});
  const std::string net = class_of(model.model_config);
  content.lines = {{"kind", cat("Keras model file, layout of Keras ", model.keras_version)},
                   {"net", net.empty() ? "not described: weights only"
                                       : cat(net, " of ", counted(model.layers.size(), "layer"))}};
  if (model.state) describe_state(*model.state, content.lines);
  content.lines.push_back({"SHA-256", weights_sha256(content.tensors) + " (of the weights)"});
  return content;
}

/// What a file that could be read may be trusted for.
std::string checked_by(const std::string& bytes, const std::string& path) {
  if (is_sealed(bytes)) return "SHA-256 of the whole file, as Ronde wrote it";
  if (path.ends_with(".safetensors"))
    return "structure only: another program's, and the format has no checksum";
  if (bytes.starts_with("PK")) return "CRC-32 of each of its parts";
  return "HDF5's own checksums, if it has any: another program wrote or changed it";
}

template <class Map>
FileContent arrays_content(const std::string& kind, const Map& arrays) {
  FileContent content;
  content.lines = {{"kind", kind}};
  for (const auto& [name, values] : arrays) content.tensors.push_back({name, values});
  return content;
}

}  // namespace

FileContent read_content(const std::string& path) {
  const std::string bytes = read_file(path);
  FileContent content;
  if (path.ends_with(".npz")) {
    content = arrays_content("NumPy's npz", read_npz(path));
  } else if (path.ends_with(".safetensors")) {
    const Safetensors file = decode_safetensors(bytes, path);
    content = arrays_content("safetensors", file.tensors);
    for (const auto& [key, value] : file.metadata) content.lines.push_back({key, value});
  } else {
    content = model_content(bytes, path);
  }
  content.lines.insert(content.lines.begin() + 1, {"size", to_string(counted(std::ssize(bytes), "byte"))});
  content.lines.insert(content.lines.begin() + 2, {"checked", checked_by(bytes, path)});
  return content;
}

Model load_model(const std::string& path, ModelOptions options) {
  require<InputError>(!path.ends_with(".onnx"), path, ": ONNX is written by `ronde export`, but not read");
  for (const char* ending : {".safetensors", ".npz"})
    require<InputError>(!path.ends_with(ending), path, ": *", ending,
                        " holds weights and no net: give the .h5 or .keras file");
  return Model::load(path, std::move(options));
}

}  // namespace ronde::apps
