#include <utility>

#include <ronde/models/file_io.h>
#include <ronde/models/saved_model.h>

#include "json/json.h"
#include "keras_file/encode.h"
#include "keras_file/hdf5_dataset.h"
#include "keras_file/keras3_layers.h"
#include "keras_file/keras_archive.h"
#include "keras_file/layout.h"
#include "keras_file/optimizer_weights.h"
#include "keras_file/run_state.h"
#include "keras_file/trailer.h"

namespace ronde::inline v0 {

namespace {

using hdf5::ensure_group;
using hdf5::Handle;
using hdf5::write_attribute;
using hdf5::write_dataset;

/// Keras' attributes of a group of layers. Without keras_version a reader would take the file for one of
/// Keras 1.
void write_layers(hid_t file, SavedModel& model) {
  const Handle root = ensure_group(file, layout::kWeights);
  std::vector<std::string> names;
  for (SavedLayer& layer : model.layers) {
    names.push_back(layer.name);
    const Handle group = ensure_group(root, layer.name);
    std::vector<std::string> weight_names;
    for (SavedWeight& weight : layer.weights) {
      weight_names.push_back(weight.name);
      write_dataset(group, weight.name, std::exchange(weight.values, {}));
    }
    write_attribute(group, layout::kWeightNames, weight_names);
  }
  write_attribute(root, layout::kLayerNames, names);
  write_attribute(root, layout::kBackend, std::string("tensorflow"));
  write_attribute(root, layout::kKerasVersion, model.keras_version);
}

void write_optimizer(hid_t state, SavedOptimizer& optimizer) {
  const Handle group = ensure_group(state, layout::kOptimizer);
  write_attribute(group, "name", optimizer.name);
  write_attribute(group, "iterations", optimizer.iterations);
  write_attribute(group, "learning_rate", optimizer.learning_rate);
  std::vector<std::string> slot_names;
  for (SavedSlot& slot : optimizer.slots) {
    slot_names.push_back(slot.name);
    const Handle slot_group = ensure_group(group, slot.name);
    std::vector<std::string> weight_names;
    for (SavedWeight& weight : slot.weights) {
      weight_names.push_back(weight.name);
      write_dataset(slot_group, weight.name, std::exchange(weight.values, {}));
    }
    write_attribute(slot_group, layout::kWeightNames, weight_names);
  }
  write_attribute(group, "slots", slot_names);
}

void write_state(hid_t file, SavedState& state) {
  const Handle group = ensure_group(file, layout::kState);
  write_attribute(group, "format_version", layout::kFormatVersion);
  write_attribute(group, "epochs", state.epochs);
  write_attribute(group, "steps", state.steps);
  write_attribute(group, "seed", state.seed);
  if (state.optimizer) write_optimizer(group, *state.optimizer);
  if (!state.optimizer_settings.empty())
    write_attribute(group, layout::kOptimizerSettings, to_json(state.optimizer_settings));
  if (state.run) write_run(group, *state.run);
}

std::size_t bytes_of(const std::vector<SavedWeight>& weights) {
  std::size_t bytes = 0;
  for (const SavedWeight& weight : weights) bytes += weight.values.byte_size();
  return bytes;
}

std::size_t bytes_of_weights(const SavedModel& model) {
  std::size_t bytes = bytes_of(model.optimizer_weights);
  for (const SavedLayer& layer : model.layers) bytes += bytes_of(layer.weights);
  if (model.state && model.state->optimizer)
    for (const SavedSlot& slot : model.state->optimizer->slots) bytes += bytes_of(slot.weights);
  if (model.state && model.state->run)
    for (const SavedCallback& callback : model.state->run->callbacks) bytes += bytes_of(callback.tensors);
  return bytes;
}

}  // namespace

FileBuffer encode_file(SavedModel model, SavedLayout layout) {
  if (layout == SavedLayout::archive) return encode_keras_archive(std::move(model));
  FileBuffer bytes;
  {
    const hdf5::Session session;
    hdf5::MemoryFile file(bytes_of_weights(model));
    write_attribute(file, layout::kKerasVersion, model.keras_version);
    write_attribute(file, layout::kBackend, std::string("tensorflow"));
    if (!model.model_config.is_null())
      write_attribute(file, layout::kModelConfig, to_json(model.model_config));
    if (!model.training_config.is_null())
      write_attribute(file, layout::kTrainingConfig, to_json(model.training_config));
    if (layout == SavedLayout::weights_h5) {
      write_keras3_layers(file, model);
    } else {
      model.layers_by_class.clear();  // the same arrays
      write_layers(file, model);
    }
    write_optimizer_weights(file, std::move(model.optimizer_weights), layout);
    if (model.state) write_state(file, *model.state);
    bytes = file.close();
  }
  if (model.state) append_progress(bytes, {.epochs = model.state->epochs, .steps = model.state->steps});
  append_trailer(bytes);
  return bytes;
}

std::string encode_saved_model(SavedModel model, SavedLayout layout) {
  return std::string(encode_file(std::move(model), layout));
}

void write_saved_model(const std::string& path, SavedModel model) {
  atomic_write_file(path, encode_file(std::move(model), layout_for(path)));
}

}  // namespace ronde::inline v0
