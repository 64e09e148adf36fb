#include "keras_file/decode.h"

#include <cstring>

#include <ronde/core/counted.h>
#include <ronde/models/file_io.h>

#include "json/json.h"
#include "keras_file/hdf5_dataset.h"
#include "keras_file/keras3_layers.h"
#include "keras_file/keras_archive.h"
#include "keras_file/layout.h"
#include "keras_file/limited_reader.h"
#include "keras_file/optimizer_weights.h"
#include "keras_file/run_state.h"
#include "keras_file/sealed_file.h"
#include "keras_file/trailer.h"

namespace ronde::inline v0 {

namespace {

using hdf5::Handle;
using hdf5::has_attribute;
using hdf5::has_object;
using hdf5::open_object;
using hdf5::read_texts;

constexpr std::string_view kSignature = "\x89HDF\r\n\x1a\n";

ConfigValue read_config(hid_t file, const char* name) {
  if (!has_attribute(file, name)) return {};
  return from_json(hdf5::read_text(file, name));
}

std::vector<SavedWeight> read_weights(hid_t group) {
  std::vector<SavedWeight> weights;
  for (std::string& name : read_texts(group, layout::kWeightNames)) {
    Tensor values = hdf5::read_dataset(group, name);
    weights.push_back({std::move(name), std::move(values)});
  }
  return weights;
}

/// A whole model has its layers in a group, a file of Keras' save_weights has them in the root.
void read_layers(hid_t file, SavedModel& model) {
  const bool in_root = !has_object(file, layout::kWeights);
  const bool by_name = !in_root || has_attribute(file, layout::kLayerNames) ||
                       has_attribute(file, cat(layout::kLayerNames, 0));
  if (!by_name && has_keras3_layers(file)) return read_keras3_layers(file, model);
  require<InputError>(by_name, "is an HDF5 file, but holds no Keras model");
  const Handle root = open_object(file, in_root ? "/" : layout::kWeights);
  if (has_attribute(root, layout::kKerasVersion))
    model.keras_version = hdf5::read_text(root, layout::kKerasVersion);
  for (const std::string& name : read_texts(root, layout::kLayerNames))
    model.layers.push_back({name, read_weights(open_object(root, name))});
}

SavedOptimizer read_optimizer(hid_t group) {
  SavedOptimizer optimizer;
  optimizer.name = hdf5::read_text(group, "name");
  optimizer.iterations = hdf5::read_int(group, "iterations");
  optimizer.learning_rate = hdf5::read_double(group, "learning_rate");
  for (const std::string& name : read_texts(group, "slots"))
    optimizer.slots.push_back({name, read_weights(open_object(group, name))});
  return optimizer;
}

SavedState read_state(hid_t group) {
  const std::int64_t version = hdf5::read_int(group, "format_version");
  require<InputError>(version == layout::kFormatVersion, "was written by a newer Ronde (state format ",
                      version, ", this one knows ", layout::kFormatVersion, ")");
  SavedState state;
  state.epochs = hdf5::read_int(group, "epochs");
  state.steps = hdf5::read_int(group, "steps");
  state.seed = hdf5::read_unsigned(group, "seed");
  if (has_object(group, layout::kOptimizer))
    state.optimizer = read_optimizer(open_object(group, layout::kOptimizer));
  if (has_attribute(group, layout::kOptimizerSettings))
    state.optimizer_settings = from_json(hdf5::read_text(group, layout::kOptimizerSettings)).as_dict();
  if (has_object(group, layout::kRun)) state.run = read_run(open_object(group, layout::kRun));
  return state;
}

/// Where the HDF5 data end, as superblocks of version 2 and 3 (which Ronde writes) say; nothing for others.
std::optional<std::uint64_t> end_of_data(std::string_view file) {
  constexpr std::size_t kVersion = 8, kBytesOfAddress = 9, kEnd = 28;
  std::uint64_t end = 0;
  if (file.size() < kEnd + sizeof end || (file[kVersion] != 2 && file[kVersion] != 3) ||
      file[kBytesOfAddress] != 8)
    return {};
  std::memcpy(&end, file.data() + kEnd, sizeof end);
  return end;
}

/// A file that has lost or spoiled its last lines shows that in its length.
void check_length(std::string_view file) {
  const std::optional<std::uint64_t> end = end_of_data(file);
  require<InputError>(!end || *end <= file.size(), "cut off: has ", counted(file.size(), "byte"), " of ",
                      end.value_or(0));
  require<InputError>(!end || *end == file.size(),
                      "damaged: the line with its SHA-256 is not what was written");
}

SavedModel decode_file(std::string bytes) {
  const std::string_view image = verify_trailer(bytes);
  require<InputError>(image.starts_with(kSignature), "is not an HDF5 file");
  if (has_trailer(bytes)) return decode_hdf5(image);
  check_length(image);
  return decode_in_child(std::move(bytes));  // which is the image
}

}  // namespace

SavedModel decode_hdf5(std::string_view image) {
  const hdf5::Session session;
  return decode_hdf5(hdf5::open_image(image));
}

SavedModel decode_hdf5(const Handle& file) {
  SavedModel model;
  model.model_config = read_config(file, layout::kModelConfig);
  model.training_config = read_config(file, layout::kTrainingConfig);
  read_layers(file, model);
  model.optimizer_weights = read_optimizer_weights(file);
  if (has_object(file, layout::kState)) model.state = read_state(open_object(file, layout::kState));
  return model;
}

SavedModel decode_saved_model(std::string bytes, const std::string& source) {
  if (is_zip_archive(bytes)) return decode_keras_archive(std::move(bytes), source);
  try {
    return decode_file(std::move(bytes));
  } catch (const hdf5::Hdf5Error& error) {
    throw InputError(cat(source, ": damaged or incomplete HDF5 file: ", error.what()));
  } catch (const InputError& error) {
    throw InputError(cat(source, ": ", error.what()));
  } catch (const IoError& error) {  // of the process that reads it
    throw IoError(cat(source, ": ", error.what()));
  }
}

SavedModel read_saved_model(const std::string& path) {
  if (std::optional<SavedModel> model = read_sealed_file(path)) return std::move(*model);
  return decode_saved_model(read_file(path), path);
}

}  // namespace ronde::inline v0
