/// SavedModel: what a model file holds, as plain data. Knows nothing of a net or of the number of ranks.
///
///     SavedModel file = read_saved_model("checkpoint.h5");
///     for (const SavedLayer& layer : file.layers) ...
///
/// The files are Keras' HDF5 model files ("legacy h5"): Keras 2.10 to 3.15 open what is written here, and
/// files written by them are read. Ronde's own state lies in the group /ronde, which Keras ignores; behind
/// the HDF5 data comes a line with the SHA-256 of all before it, checked before anything else looks at the
/// file. Equal content gives equal bytes. Thread safety: free functions, may be called from several threads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ronde/core/tensor.h>
#include <ronde/nn/config.h>

namespace ronde::inline v0 {

struct SavedWeight {
  std::string name;  ///< "conv2d/kernel:0"
  Tensor values;     ///< Keras' layout (HWIO for a convolution); f32 or f64, in host memory, dense
};

struct SavedLayer {
  std::string name;
  std::vector<SavedWeight> weights;  ///< may be empty
};

/// One kind of optimizer state, for each trained weight.
struct SavedSlot {
  std::string name;                  ///< "velocity"
  std::vector<SavedWeight> weights;  ///< named as the parameters are: "conv2d/kernel"
};

struct SavedOptimizer {
  std::string name;  ///< "Adam"
  std::int64_t iterations = 0;
  double learning_rate = 0.0;
  std::vector<SavedSlot> slots;
};

/// What only Ronde's files have.
struct SavedState {
  std::int64_t epochs = 0;  ///< finished
  std::int64_t steps = 0;   ///< finished, over all epochs
  std::uint64_t seed = 0;
  std::optional<SavedOptimizer> optimizer;
};

struct SavedModel {
  std::string keras_version = "1";  ///< of the writer; "1" when the file does not say
  ConfigValue model_config;         ///< null when the file has weights only
  ConfigValue training_config;      ///< null when the model was not compiled
  std::vector<SavedLayer> layers;
  std::optional<SavedState> state;
};

/// IoError when the file cannot be read; InputError, with the path, when it is no such file or is damaged.
RONDE_API SavedModel read_saved_model(const std::string& path);
/// Replaces the file atomically; makes missing directories. IoError.
RONDE_API void write_saved_model(const std::string& path, const SavedModel& model);

/// The file's bytes.
RONDE_API std::string encode_saved_model(const SavedModel& model);
/// `source` names the bytes in errors.
RONDE_API SavedModel decode_saved_model(std::string_view bytes, const std::string& source);

}  // namespace ronde::inline v0
