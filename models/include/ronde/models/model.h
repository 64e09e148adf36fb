/// Model: a net with Keras' verbs, on any number of ranks.
///
///     Sequential net(Conv2D({.filters = 32, .activation = Activation::relu}), Flatten(),
///                    Dense({.units = 10, .activation = Activation::softmax}));
///     Model model(net, {28, 28, 1}, {.communicator = &ronde::world()});
///     model.compile({.optimizer = std::make_unique<Adam>(),
///                    .loss = std::make_unique<CategoricalCrossentropy>()});
///     History history = model.fit(train, {.batch_size = 128, .epochs = 3, .validation = &test});
///     model.save("mnist.h5");
///
/// fit, evaluate, save and load are collective: all ranks call them. Only rank 0 writes files.
///
/// Several models may share a net, or a part of it, and predict; the one that was made or compiled last
/// trains those of its weights that are not frozen. Another one that had them says so when it is trained,
/// until it is compiled again.
///
/// Thread safety: several threads may call `predict` at once, as long as nothing else is called meanwhile;
/// all other calls want the model for themselves. To predict while it is being trained, use a second model
/// of the same net and give it copies of the weights now and then (named_weights.h). The library starts
/// threads only where more than one is asked for (`set_thread_count` in core/backend.h, loader_threads).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ronde/data/dataset.h>
#include <ronde/data/test_time_views.h>
#include <ronde/distributed/distributed_optimizer.h>
#include <ronde/models/class_weights.h>
#include <ronde/models/history.h>
#include <ronde/models/non_finite.h>
#include <ronde/models/save_options.h>
#include <ronde/models/validation_freq.h>
#include <ronde/nn/loss.h>
#include <ronde/nn/metric.h>
#include <ronde/nn/module.h>
#include <ronde/nn/optimizer.h>

namespace ronde::inline v0 {

class Augmentation;
class Callback;

/// Values of an epoch or a batch by Keras' names (loss, accuracy, val_loss, ...), in Keras' order.
class RONDE_API Logs {
 public:
  void set(const std::string& name, double value);
  /// nullptr when there is none of that name.
  const double* find(const std::string& name) const;
  /// A UsageError that names those there are.
  double at(const std::string& name) const;
  const std::vector<std::pair<std::string, double>>& entries() const& { return entries_; }
  /// So that a loop may run over `model.evaluate(data).logs.entries()`.
  std::vector<std::pair<std::string, double>> entries() && { return std::move(entries_); }

 private:
  std::vector<std::pair<std::string, double>> entries_;
};

/// How far training is, and how fast. Saved with the model, except the times.
struct TrainingProgress {
  std::int64_t epochs = 0;  ///< finished
  std::int64_t steps = 0;   ///< finished, over all epochs
  // Of the steps that this fit has made of the epoch it is in, or of the one that finished last:
  std::int64_t epoch_steps = 0;
  std::int64_t epoch_samples = 0;        ///< of all ranks
  double epoch_seconds = 0.0;            ///< in training steps; no evaluation, no callbacks
  double epoch_images_per_second = 0.0;  ///< of all ranks together; without the first step of a fit
  double train_seconds = 0.0;            ///< of all steps of this fit
  double images_per_second = 0.0;        ///< over all steps of this fit
  /// What `autotune` found: "1 thread, buckets of 4 MB"; empty while it looks, or without it.
  std::string tuned = {};
  /// The last checkpoint of this fit, where its file could not be written, as on a full disk; else empty.
  std::string unwritten_checkpoint = {};
};

struct ModelOptions {
  Communicator* communicator = nullptr;  ///< must outlive the model; nullptr: this process alone
  std::uint64_t seed = 0;
  DType dtype = DType::f32;
  Backend* backend = nullptr;
  /// bf16: mixed precision, Keras' "mixed_bfloat16". Layers compute in bf16; weights, their gradients, the
  /// optimizer, losses and metrics stay in f32, and so does what is saved: the file is a float32 model.
  /// Empty: all is computed in `dtype`.
  std::optional<DType> compute_dtype = {};
  /// Of a sample, for `load`: of a net whose file leaves extents of it open, as (None, None, 3).
  std::optional<Shape> input_shape = {};
  /// Told on rank 0, by `load`, of each thing in the file that is not taken over: an optimizer, loss, metric,
  /// initializer, regularizer or option that is not known here, a schedule that Keras has not, a constraint,
  /// an augmentation, a dtype.
  /// Empty: a line on stderr.
  std::function<void(const std::string& problem)> warn = {};

  DType computed() const { return compute_dtype.value_or(dtype); }
};

struct CompileOptions {
  std::unique_ptr<Optimizer> optimizer = {};
  std::unique_ptr<Loss> loss = {};
  /// Without these and `weighted_metrics`: `Loss::default_metric`, if the loss has one. Those of one name get
  /// numbers in the logs, as in Keras: recall, recall_1. They count every sample once, whatever weights `fit`
  /// or `evaluate` are given.
  std::vector<std::shared_ptr<Metric>> metrics = {};
  /// Metrics in which a sample counts as its weights say, as in the loss: `class_weight` and `sample_weight`
  /// of `fit`, `validation_sample_weight`, `sample_weight` of `evaluate`; means are divided by the sum of the
  /// weights. A name that is taken gets Keras' prefix in the logs: weighted_accuracy. With any of them a GPU
  /// makes the update behind the graph of a step, not within, and an evaluation waits for it after each
  /// batch.
  std::vector<std::shared_ptr<Metric>> weighted_metrics = {};
  DistributedOptions distributed = {};  ///< compression, local steps, sharded optimizer state, buckets
};

struct FitOptions {
  std::int64_t batch_size = 32;        ///< of one rank
  std::int64_t global_batch_size = 0;  ///< if set, replaces batch_size * ranks
  std::int64_t epochs = 1;
  /// Orders, dropout masks and augmentations follow from the seed and the number of the pass over the data. A
  /// further `fit`, of a model from a file too, goes on with the passes that its training has not seen; with
  /// the `initial_epoch` where the last one ended, with those of one `fit` over all epochs. After a `fit`
  /// that failed, `train_on_batch`, or weights alone from a file they are counted anew.
  std::int64_t initial_epoch = 0;
  std::int64_t steps_per_epoch = 0;  ///< 0: one pass over the data
  /// If set, training ends after so many steps over all epochs, earlier runs included. The epoch that this
  /// cuts short does not end: a resumed training goes on within it.
  std::int64_t max_steps = 0;
  bool shuffle = true;
  bool repeat = false;      ///< steps run across passes; needs steps_per_epoch
  std::int64_t passes = 1;  ///< fresh permutations of the data that make one epoch
  /// Factors of the training loss of samples by their class, 1 of a class that is not named; the loss shown
  /// while training and `weighted_metrics` have them, validation and `metrics` do not, and a batch's mean is
  /// over its samples, as in Keras. The class is a sample's label, or, as there, that of the largest of its
  /// targets; of a single one the nearest whole number, the even one of two. Empty: all are 1.
  ClassWeights class_weight = {};
  /// Factors of the training loss of each sample of the data set, in its order, as with `class_weight`; the
  /// same on all ranks. With both, their product. Empty: all are 1.
  std::vector<double> sample_weight = {};
  /// Of the training samples; must outlive fit, which also tries it on a few made-up pictures: by these a
  /// resumed run knows it.
  const Augmentation* augmentation = nullptr;
  int loader_threads = 1;  ///< of this rank, that read, decode and augment; changes no value
  /// Goes on where the file that was loaded last (or this model's last `fit`) stopped, mid-epoch too, instead
  /// of at `initial_epoch`: on as many ranks, all values are those of a run that never stopped, bit for bit.
  /// UsageError when this call asks for something that would make it another run (batch, data, optimizer, a
  /// net whose layers have other options), within an epoch for other metrics, and when a callback left other
  /// weights at the end (EarlyStopping's restore_best_weights).
  bool resume = false;
  /// Samples of a rank that are computed at once, so that a step stays in cache; gradients add up. 0: the
  /// whole batch, and so it is whatever this says when a layer of the net is synchronized or its outputs have
  /// a mask (masking.h). A batch norm that is not takes its statistics of these samples, once for each
  /// micro-batch.
  std::int64_t micro_batch = 0;
  /// The weights change after every so many batches, by the average over the samples of all of them
  /// (Horovod's name; Keras' is gradient_accumulation_steps). What is left at the end of an epoch makes an
  /// update too. A save that falls due within such a group is made behind its last batch.
  std::int64_t backward_passes_per_step = 1;
  /// Makes every bit of the weights, of the logs and so of the callbacks' decisions the same for any number
  /// of ranks up to `virtual_shards` and of threads, with any transport between them, at one global batch.
  /// Also on different machines, if they have the same RONDE_ISA and run the same build with the same
  /// libraries; another instruction set, compiler, version of oneDNN or of the C library may give other bits.
  /// See Note [Virtual shards] in distributed/shard_sum.h. `micro_batch` is the shard then, whatever it says,
  /// and whatever changes the sums (compression, local steps, sharded state) is refused, and masked outputs.
  bool deterministic = false;
  int virtual_shards = 16;  ///< parts of a global batch; another number gives other bits
  /// Tries other sizes of gradient buckets and fewer threads in the first hundred updates or so, and keeps
  /// what made steps faster in every one of several comparisons side by side, twice; else the defaults. Other
  /// threads round sums differently, but for `deterministic`.
  bool autotune = false;
  /// What is done about gradients that are not finite.
  NonFiniteOptions non_finite = {};
  /// After every so many steps (or soon after, with local steps) and at the end of each epoch the ranks
  /// compare a hash of weights and optimizer state; 0: never. When they differ, a CollectiveError with the
  /// status replicas_differ names the rank that differs from most, and where.
  std::int64_t check_replicas_every = 0;
  /// Every so many steps each rank computes the forward and backward pass of its part twice and compares the
  /// bits: a machine whose memory or cores make silent errors is found on its own, on one rank too; 0: never.
  /// A CollectiveError with the status replicas_differ names rank and parameter, before the weights change.
  /// Costs about one step in so many, and memory for another set of gradients.
  std::int64_t audit_every = 0;
  const Dataset* validation = nullptr;
  /// Validates at the end of every so many epochs, as Keras' option of that name: 2 is epochs 2, 4, ...; {1,
  /// 5} is epochs 1 and 5. Logs of the others have no val_ keys, and callbacks that monitor one pass these
  /// epochs over.
  ValidationFreq validation_freq = 1;
  std::vector<double> validation_sample_weight = {};  ///< as `EvaluateOptions::sample_weight`
  std::int64_t validation_batch_size = 0;  ///< 0: as the training batch of a rank (or virtual shard)
  std::vector<Callback*> callbacks = {};   ///< called in this order on all ranks
  int verbose = -1;  ///< -1: as the terminal says; 0 silent, 1 bar, 2 a line an epoch; rank 0 prints
  /// Told on rank 0 of what goes wrong without ending the training: a full disk. Empty: a line on stderr.
  std::function<void(const std::string& problem)> warn = {};
};

/// Of `evaluate` and `predict`.
struct EvaluateOptions {
  std::int64_t batch_size = 32;
  /// Of `evaluate`: factors of the loss of each sample of the data set, in its order; the mean is over the
  /// samples, and `metrics` have none, but for `weighted_metrics`, as in Keras. Empty: all are 1.
  std::vector<double> sample_weight = {};
  /// Test-time augmentation: the outputs for several views of each picture, averaged; those of a softmax
  /// before it. Empty: the inputs as they are.
  std::vector<TestTimeView> views = {};
};

/// Of `train_on_batch`.
struct TrainBatchOptions {
  ClassWeights class_weight = {};  ///< as `FitOptions::class_weight`
  /// Factors of the loss of each sample of this rank's batch, in its order. With both, their product. Empty:
  /// all are 1.
  std::vector<double> sample_weight = {};
  /// i64 (n, 2), as in Batch: what random numbers of the net, as dropout's, depend on. Undefined: no two
  /// samples of a training have the same.
  Tensor sample_keys = {};
};

/// Sums over all ranks.
struct Evaluation {
  Logs logs;  ///< loss, accuracy, ...
  double loss_sum = 0.0;     ///< the penalties of regularizers, times `count`, included
  std::int64_t correct = 0;  ///< of the first of `metrics` that counts right answers, of all positions
  std::int64_t count = 0;    ///< of samples
};

class RONDE_API Model {
 public:
  /// Builds the net. The module must outlive the model.
  Model(Module& module, const Shape& input_shape, ModelOptions options = {});
  /// Owns the net.
  Model(std::unique_ptr<Module> module, const Shape& input_shape, ModelOptions options = {});
  ~Model();
  /// What was moved from can only be destroyed or assigned to.
  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;

  /// Collective: attaches the optimizer, broadcasts weights and state from rank 0. As in Keras, layers frozen
  /// or unfrozen by `set_trainable` are so from here on.
  void compile(CompileOptions options);
  History fit(const Dataset& data, const FitOptions& options);
  /// Collective; ranks share out the batches. At one `batch_size` the loss and all counts are the same, bit
  /// for bit, on any number of ranks and threads. What ranks have trained apart, as `train_on_batch` does the
  /// moving statistics of batch norms, is averaged first, as in `save`.
  Evaluation evaluate(const Dataset& data, std::int64_t batch_size = 32);
  Evaluation evaluate(const Dataset& data, const EvaluateOptions& options);
  /// Outputs for inputs (n, input_shape...), on this rank alone; several inputs or outputs of a Graph lie in
  /// rows (Note [Several inputs and outputs] in nn/graph.h).
  Tensor predict(const Tensor& inputs, std::int64_t batch_size = 32);
  Tensor predict(const Tensor& inputs, const EvaluateOptions& options);
  /// Loss averaged over the ranks' samples after one update; for own training loops, and for data that no
  /// `Dataset` can number: inputs (n, input_shape...) and as many targets. Collective.
  double train_on_batch(const Tensor& inputs, const Tensor& targets, const TrainBatchOptions& options = {});

  /// Exchanges the weights and their moving averages (`Optimizer::set_moving_average`), for an evaluation or
  /// a file of the others. `fit` ends with the averages, and goes on from the trained weights with `resume`,
  /// from the averages without. Collective.
  void swap_average();

  /// Writes a Keras file, atomically, on rank 0: HDF5, or a Keras 3 archive when the path ends in .keras. A
  /// UsageError for an ending that promises another format, as .onnx (`write_onnx`). Collective; a failure is
  /// thrown on all ranks.
  void save(const std::string& path, SaveOptions options = {});
  /// What `save` writes, without the net's description and the state of the training. The ending decides:
  /// .h5, .weights.h5 (Keras 3's), .safetensors or .npz. Collective.
  void save_weights(const std::string& path);
  /// Reads weights (and optimizer state, if the file has it and it is that of the same kind of optimizer) on
  /// rank 0 after checking every shape, then broadcasts. Any file that `save` or `save_weights` or a Keras
  /// wrote; .safetensors and .npz with Keras' or PyTorch's names. Collective.
  void load_weights(const std::string& path);
  /// A model from a file's own description, with the seed of the run that saved it; compiled as it was, as
  /// far as the file says and Ronde knows; `ModelOptions::warn` is told of the rest. Parts that only training
  /// needs may be missing: without an optimizer that is known here the model evaluates and predicts, and
  /// training it on, or one that has constraints or regularizers that are not known, is an error until
  /// `compile`. Collective.
  static Model load(const std::string& path, ModelOptions options = {});
  /// Keras' table.
  [[nodiscard]] std::string summary() const;
  /// SHA-256, hex, over all weights in name order, each as name, NUL, little-endian f32 bytes in Keras'
  /// layout.
  [[nodiscard]] std::string weights_sha256() const;

  Module& module();
  ParameterArena& arena();
  Optimizer& optimizer();
  const Loss& loss() const;
  Communicator& communicator();
  /// Has an optimizer and a loss.
  [[nodiscard]] bool is_compiled() const;
  /// Can be evaluated: compiled, or loaded from a file whose loss is known here, if not its optimizer.
  [[nodiscard]] bool has_loss() const;
  const TrainingProgress& progress() const;
  /// What this rank has sent for training since `compile`.
  ExchangeStatistics exchange_statistics() const;
  /// Asks `fit` to end the epoch after this step, and training with it; to be called by all ranks alike.
  void stop_training();

  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace ronde::inline v0
