/// SavedModel: what a model file holds, as plain data. Knows nothing of a net or of the number of ranks.
///
///     SavedModel file = read_saved_model("checkpoint.h5");
///     for (const SavedLayer& layer : file.layers) ...
///
/// The files are Keras' model files in any of its three layouts: Keras 2.10 to 3.15 open what is written here
/// (the newer two layouts since 2.13), and files written by them are read. Ronde's own state lies in the
/// group /ronde, which Keras ignores; behind the HDF5 data comes a line with the SHA-256 of all before it,
/// checked before anything else looks at the file. Equal content gives equal bytes. Thread safety: free
/// functions, may be called from several threads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ronde/core/tensor.h>
#include <ronde/models/history.h>
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

/// What a callback remembers.
struct SavedCallback {
  std::string name;  ///< Callback::state_name
  ConfigDict values;
  std::vector<SavedWeight> tensors;
};

/// Where a call of `fit` stood, and how it was made: what another one needs to go on from there as if nothing
/// had happened.
struct SavedRun {
  std::int64_t epoch = 0;       ///< 0-based; the epoch of the next step
  std::int64_t epoch_step = 0;  ///< steps of that epoch that are done
  bool stopped = false;         ///< a callback ended the training
  std::int64_t first_pass = 0;  ///< number of the pass over the data that epoch 0 begins with
  /// What the run that goes on must have in common with this one: global_batch, steps_per_epoch, samples, ...
  ConfigDict plan = {};
  /// What it should have in common, or sums are rounded differently and batch norms take their statistics of
  /// other samples: ranks, micro_batch.
  ConfigDict arithmetic = {};
  /// Of the epoch's steps that are done, per rank (or virtual shard): sum and count of the loss, then of each
  /// metric.
  std::vector<std::vector<double>> totals = {};
  std::optional<std::vector<std::string>> metrics = {};  ///< those of `totals`; older files do not say
  History history = {};
  /// Steps skipped in a row, or returns without another file, up to here: NonFiniteOptions::limit.
  std::int64_t non_finite = 0;
  std::vector<SavedCallback> callbacks = {};  ///< in the order of `fit`
  /// The callback that left other weights than those of the last step (Callback::left_other_weights). Empty:
  /// none did.
  std::string other_weights_by = {};
};

/// What only Ronde's files have.
struct SavedState {
  std::int64_t epochs = 0;  ///< finished
  std::int64_t steps = 0;   ///< finished, over all epochs
  std::uint64_t seed = 0;
  std::optional<SavedOptimizer> optimizer;
  /// Settings of the optimizer that Keras has no keys for.
  ConfigDict optimizer_settings = {};
  std::optional<SavedRun> run = {};  ///< none before the first `fit`
};

/// Which of Keras' layouts a file has.
enum class SavedLayout {
  h5,          ///< ".h5", a whole model or weights only: layers by name, in the net's order
  weights_h5,  ///< ".weights.h5" of Keras 3: layers by their classes, "layers/sequential/layers/conv2d_1"
  archive,     ///< ".keras": a zip archive with config.json and a weights_h5; layers named as there
};
/// By the path's suffix.
RONDE_API SavedLayout layout_for(std::string_view path);

struct SavedModel {
  SavedLayout layout = SavedLayout::h5;  ///< in which `layers` were found
  std::string keras_version = "1";       ///< of the writer; "1" when the file does not say
  ConfigValue model_config;              ///< null when the file has weights only
  ConfigValue training_config;           ///< null when the model was not compiled
  std::vector<SavedLayer> layers;
  /// The same arrays as the newer layouts have them; needed for writing these only.
  std::vector<SavedLayer> layers_by_class;
  /// Keras' own state of the optimizer, in the order of the Keras that wrote it or is to read it, the first
  /// being the number of updates (i64); empty when there is none.
  std::vector<SavedWeight> optimizer_weights;
  std::optional<SavedState> state;
};

/// IoError when the file cannot be read; InputError, with the path, when it is no such file or is damaged.
RONDE_API SavedModel read_saved_model(const std::string& path);
/// In the layout of the path's suffix. Replaces the file atomically; makes missing directories. IoError. A
/// model that is moved here is freed on the way, array by array: it and the file's bytes are not in memory as
/// a whole at once.
RONDE_API void write_saved_model(const std::string& path, SavedModel model);

/// The file's bytes; they are in memory twice while the string is made.
RONDE_API std::string encode_saved_model(SavedModel model, SavedLayout layout = SavedLayout::h5);
/// `source` names the bytes in errors. They are let go when they have been read: a large file would else lie
/// in memory four times.
RONDE_API SavedModel decode_saved_model(std::string bytes, const std::string& source);

}  // namespace ronde::inline v0
