#include "keras_file/keras_archive.h"

#include <utility>

#include <ronde/data/zip.h>
#include <ronde/nn/keras_origin.h>

#include "json/json.h"
#include "keras_file/encode.h"
#include "keras_file/trailer.h"

namespace ronde::inline v0 {

namespace {

constexpr const char* kConfig = "config.json";
constexpr const char* kMetadata = "metadata.json";
constexpr const char* kWeights = "model.weights.h5";

ZipEntry& member(std::vector<ZipEntry>& entries, const char* name) {
  for (ZipEntry& entry : entries)
    if (entry.name == name) return entry;
  throw InputError(cat("is a zip archive without ", name, ", so not a .keras file"));
}

std::string version_in(std::vector<ZipEntry>& entries) {
  const ConfigValue metadata = from_json(member(entries, kMetadata).bytes);
  const ConfigValue* version = metadata.is_dict() ? metadata.find("keras_version") : nullptr;
  return version != nullptr && version->is_string() ? version->as_string() : "3";
}

SavedModel decode(std::vector<ZipEntry> entries, const std::string& source) {
  const ConfigValue config = with_foreign_names(from_json(member(entries, kConfig).bytes));
  const std::string version = version_in(entries);
  SavedModel model =
      decode_saved_model(std::move(member(entries, kWeights).bytes), cat(source, ": ", kWeights));
  model.layout = SavedLayout::archive;
  model.keras_version = version;
  model.model_config = ConfigDict{{"class_name", config.at("class_name")}, {"config", config.at("config")}};
  if (const ConfigValue* compiled = config.find("compile_config"))
    model.training_config = training_config_from_archive(*compiled);
  return model;
}

/// Keras 2 refuses `decay` here; among Ronde's own settings it does no harm.
void move_decay(SavedModel& weights, ConfigValue& training_config) {
  if (!training_config.is_dict() || !weights.state) return;
  ConfigDict training = training_config.as_dict();
  for (auto& [key, value] : training) {
    if (key != "optimizer_config") continue;
    ConfigDict described = value.as_dict();
    for (auto& [part, content] : described) {
      if (part != "config") continue;
      ConfigDict config = content.as_dict();
      for (const auto& setting : config)
        if (setting.first == "decay") weights.state->optimizer_settings.push_back(setting);
      std::erase_if(config, [](const auto& setting) { return setting.first == "decay"; });
      content = config;
    }
    value = described;
  }
  training_config = training;
}

}  // namespace

bool is_zip_archive(std::string_view bytes) {
  return bytes.starts_with("PK\x03\x04");
}

SavedModel decode_keras_archive(std::string bytes, const std::string& source) {
  std::vector<ZipEntry> entries = decode_zip(std::exchange(bytes, {}), source);
  try {
    return decode(std::move(entries), source);
  } catch (const InputError& error) {
    if (std::string_view(error.what()).starts_with(source)) throw;
    throw InputError(cat(source, ": ", error.what()));
  }
}

FileBuffer encode_keras_archive(SavedModel model) {
  require<UsageError>(
      !model.model_config.is_null(),
      "[save] a .keras file is a whole model with the description of its net: neither weights "
      "alone nor a net with a forward() of its own fit; save them as .h5 or .weights.h5");
  const ConfigValue net = std::exchange(model.model_config, {});
  ConfigValue training = std::exchange(model.training_config, {});
  move_decay(model, training);

  ConfigDict config = archive_model_config(net).as_dict();
  if (!training.is_null()) config.emplace_back("compile_config", archive_compile_config(training));
  const std::string metadata = to_json(ConfigDict{{"keras_version", model.keras_version}});
  const std::string described = to_json(config);
  const FileBuffer weights = encode_file(std::move(model), SavedLayout::weights_h5);
  FileBuffer archive(weights.size() + metadata.size() + described.size() + kArchiveEndLength);
  write_zip({{kMetadata, metadata}, {kConfig, described}, {kWeights, weights}},
            [&](std::string_view bytes) { archive.append(bytes); });
  return archive;
}

}  // namespace ronde::inline v0
