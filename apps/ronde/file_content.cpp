#include "ronde/file_content.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>

#include <ronde/core/counted.h>
#include <ronde/core/error.h>
#include <ronde/core/sha256.h>
#include <ronde/data/npz.h>
#include <ronde/data/packed_dataset.h>
#include <ronde/models/file_io.h>
#include <ronde/models/safetensors.h>
#include <ronde/models/saved_model.h>
#include <ronde/models/seal.h>
#include <ronde/nn/graph.h>

#include "common/model_file.h"

namespace ronde::apps {
namespace {

constexpr std::string_view kHdf5 = "\x89HDF", kPacked = "\x89RONDE";

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

/// " of 8 layers", those left out that only name an input; nothing of a class that does not list them.
std::string layers_text(const ConfigValue& net) {
  const ConfigValue* config = net.find("config");
  const ConfigValue* layers = config && config->is_dict() ? config->find("layers") : config;
  if (!layers || !layers->is_list()) return "";
  const ConfigList& all = layers->as_list();
  const auto inputs = std::count_if(all.begin(), all.end(),
                                    [](const ConfigValue& layer) { return class_of(layer) == "InputLayer"; });
  return cat(" of ", counted(std::ssize(all) - inputs, "layer"));
}

FileContent model_content(std::string bytes, const std::string& path) {
  const SavedModel model = decode_saved_model(std::move(bytes), path);
  FileContent content;
  for (const SavedLayer& layer : model.layers)
    for (const SavedWeight& weight : layer.weights)
      content.tensors.push_back({weight_name(layer, weight), weight.values});
  const std::string net = class_of(model.model_config);
  content.lines = {
      {"kind", cat("Keras model file, layout of Keras ", model.keras_version)},
      {"net", net.empty() ? "not described: weights only" : net + layers_text(model.model_config)}};
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

// At most so many, from a place that counts from the end if it is negative; none of what is no file.
std::string some_bytes(const std::string& path, std::streamoff at) {
  std::error_code ignored;
  std::string bytes(256, '\0');
  if (!std::filesystem::is_regular_file(path, ignored)) return "";  // opening a pipe would wait
  std::ifstream file(path, std::ios::binary);
  const auto size = static_cast<std::streamoff>(std::filesystem::file_size(path, ignored));
  file.seekg(at < 0 ? std::max<std::streamoff>(0, size + at) : at);
  file.read(bytes.data(), std::ssize(bytes));
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  return bytes;
}

bool has_model_ending(const std::string& path) {
  const auto endings = {".h5", ".hdf5", ".keras", ".safetensors", ".npz"};
  return std::any_of(endings.begin(), endings.end(), [&](const char* one) { return path.ends_with(one); });
}

/// What a file is that neither is called nor begins as one with weights; empty for all others.
std::string other_kind(const std::string& path) {
  const std::string begin = some_bytes(path, 0);
  if (begin.empty() || begin.starts_with(kHdf5) || begin.starts_with("PK") || has_model_ending(path))
    return "";
  if (begin.starts_with(kPacked)) return "a data set made by `ronde data pack`";
  const std::size_t text = begin.find_first_not_of(" \r\n\t");
  const bool is_json = text != std::string::npos && (begin[text] == '{' || begin[text] == '[');
  return is_json ? "JSON, as a run's metrics.json (`ronde report` takes its folder)" : "another file";
}

void require_model(const std::string& path) {
  require<NoModelFile>(!path.ends_with(".onnx"), path, ": ONNX is written by `ronde export`, but not read");
  const std::string other = other_kind(path);
  if (other.empty() || is_sealed(some_bytes(path, -256))) return;
  throw NoModelFile(cat(path, ": is no model file, but ", other));
}

FileContent packed_content(const std::string& path) {
  const PackedDataset data(path);
  data.verify();
  const std::vector<std::string> names = data.class_names();
  return {.lines = {{"kind", "data set, made by `ronde data pack`"},
                    {"size", to_string(counted(std::filesystem::file_size(path), "byte"))},
                    {"checked", "SHA-256 of its header, CRC-32 of each block"},
                    {"samples", grouped(data.size())},
                    {"inputs", cat(data.input_shape(), ", ", data.stored_dtype())},
                    {"targets", cat(data.target_shape(), ", ", data.target_dtype())},
                    {"classes", names.empty() ? "not named" : cat(names.size(), ": ", joined(names))}},
          .tensors = {}};
}

}  // namespace

FileContent read_content(const std::string& name) {
  const std::string path = model_file(name);
  if (some_bytes(path, 0).starts_with(kPacked)) return packed_content(path);
  require_model(path);
  std::string bytes = read_file(path);
  const std::vector<std::pair<std::string, std::string>> of_file{
      {"size", to_string(counted(std::ssize(bytes), "byte"))}, {"checked", checked_by(bytes, path)}};
  FileContent content;
  if (path.ends_with(".npz")) {
    content = arrays_content("NumPy's npz", read_npz(path));
  } else if (path.ends_with(".safetensors")) {
    const Safetensors file = decode_safetensors(bytes, path);
    content = arrays_content("safetensors", file.tensors);
    for (const auto& [key, value] : file.metadata) content.lines.push_back({key, value});
  } else {
    content = model_content(std::move(bytes), path);
  }
  content.lines.insert(content.lines.begin() + 1, of_file.begin(), of_file.end());
  return content;
}

void require_one_output(const Module& net, const std::string& path) {
  const std::vector<NetPart> outputs = several_outputs(net);
  std::string names;
  for (const NetPart& output : outputs) names += cat(names.empty() ? "" : ", ", output.name);
  require<InputError>(outputs.empty(), path, ": has ", outputs.size(), " outputs (", names,
                      "), expected one: use it in a program of your own, with Model::predict");
}

Model load_model(const std::string& name, ModelOptions options) {
  const std::string path = model_file(name);
  for (const char* ending : {".safetensors", ".npz"})
    require<InputError>(!path.ends_with(ending), path, ": *", ending,
                        " holds weights and no net: give the .h5 or .keras file");
  require_model(path);
  return Model::load(path, std::move(options));
}

}  // namespace ronde::apps
