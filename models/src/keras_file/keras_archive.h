/// Keras 3's .keras files: a zip archive of config.json (the net and how it was compiled), metadata.json and
/// model.weights.h5.
#pragma once

#include <string>
#include <string_view>

#include <ronde/models/saved_model.h>

#include "files/file_buffer.h"

namespace ronde::inline v0 {

/// Whether the bytes begin as a zip archive does.
bool is_zip_archive(std::string_view bytes);
/// `source` names the bytes in errors; they are let go as they have been read.
SavedModel decode_keras_archive(std::string bytes, const std::string& source);
/// The model must have a description of its net.
FileBuffer encode_keras_archive(SavedModel model);

/// The configs of an archive name the module of each class; those of an .h5 do not. From the latter to the
/// former; null stays null.
ConfigValue archive_model_config(const ConfigValue& model_config);
ConfigValue archive_compile_config(const ConfigValue& training_config);
/// And back.
ConfigValue training_config_from_archive(const ConfigValue& compile_config);

}  // namespace ronde::inline v0
