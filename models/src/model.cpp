#include <algorithm>

#include <ronde/core/backend.h>
#include <ronde/distributed/nccl_communicator.h>
#include <ronde/distributed/self_communicator.h>
#include <ronde/distributed/watchdog.h>
#include <ronde/models/model.h>
#include <ronde/models/view_outputs.h>

#include "state/model_state.h"
#include "state/weighted_metric.h"
#include "training/evaluator.h"
#include "training/resume.h"
#include "training/train_step.h"
#include "training/trainer.h"

namespace ronde::inline v0 {

Model::Model(Module& module, const Shape& input_shape, ModelOptions options)
    : state_(std::make_unique<State>()) {
  state_->module = &module;
  state_->options = options;
  if (options.communicator == nullptr) state_->owned_communicator = std::make_unique<SelfCommunicator>();
  state_->communicator = options.communicator ? options.communicator : state_->owned_communicator.get();
  module.build(input_shape, {.seed = options.seed,
                             .dtype = options.dtype,
                             .backend = options.backend,
                             .compute_dtype = options.compute_dtype});
  state_->arena = std::make_unique<ParameterArena>(
      module, TensorOptions{.dtype = options.dtype, .backend = options.backend});
  // On GPUs the ranks' tensors travel by NCCL.
  if (state_->backend().device().type != DeviceType::cuda || state_->communicator->size() == 1) return;
  if (state_->communicator->name() == "nccl") return;
  state_->owned_communicator = make_nccl_communicator(*state_->communicator, state_->backend());
  state_->communicator = state_->owned_communicator.get();
}

namespace {

Module& given(const std::unique_ptr<Module>& module) {
  require<UsageError>(module != nullptr, "[model] the net is a null pointer");
  return *module;
}

}  // namespace

Model::Model(std::unique_ptr<Module> module, const Shape& input_shape, ModelOptions options)
    : Model(given(module), input_shape, options) {
  state_->owned_module = std::move(module);
}

Model::~Model() = default;
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;

namespace {

/// Whether a layer was frozen or unfrozen since the arena was laid out, or another model has taken weights.
bool has_changed(const ParameterArena& arena) {
  if (!arena.lost_weight().empty()) return true;
  for (std::size_t i = 0; i < arena.segments().size(); ++i)
    if (arena.segments()[i].frozen == arena.variable(i).requires_grad()) return true;
  return false;
}

template <class Pointer>
void require_no_null(const char* what, const std::vector<Pointer>& all) {
  const auto null = std::find(all.begin(), all.end(), nullptr);
  require<UsageError>(null == all.end(), what, ": number ", null - all.begin() + 1, " of ", all.size(),
                      " is null");
}

std::vector<std::string> names_in_logs(const std::vector<std::shared_ptr<Metric>>& metrics) {
  std::vector<std::string> names;
  const auto is_taken = [&](const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (const auto& metric : metrics) {
    std::string asked = metric->name();
    require<UsageError>(asked != "loss", "[compile] a metric must not be called loss, as the loss is");
    if (is_weighted(*metric) && is_taken(asked)) asked = "weighted_" + asked;
    std::string name = asked;
    for (int number = 1; is_taken(name); ++number) name = cat(asked, "_", number);
    names.push_back(std::move(name));
  }
  return names;
}

/// Those of the loss' parts, then `metrics`, then those that see weights.
std::vector<std::shared_ptr<Metric>> all_metrics(CompileOptions& options) {
  std::vector<std::shared_ptr<Metric>> all = options.loss->part_metrics();
  all.insert(all.end(), options.metrics.begin(), options.metrics.end());
  for (std::shared_ptr<Metric>& metric : options.weighted_metrics)
    all.push_back(std::make_shared<WeightedMetric>(std::move(metric)));
  if (const auto usual = options.loss->default_metric(); usual && all.empty()) all.push_back(usual);
  return all;
}

}  // namespace

void Model::State::set_loss(CompileOptions& given) {
  std::vector<std::shared_ptr<Metric>> shown = all_metrics(given);
  metric_names = names_in_logs(shown);
  loss = std::move(given.loss);
  metrics = std::move(shown);
  // Metrics see each step of masked outputs by itself.
  const Shape rows = module->output_shape().tail(module->output_is_masked() ? 2 : 1);
  for (const auto& metric : metrics) metric->expect_outputs(rows);
}

void Model::State::require_trainable(const char* verb) const {
  require<UsageError>(untrainable.empty(), "[", verb, "] ", untrainable,
                      "; call compile to train this model");
  require<UsageError>(optimizer != nullptr, "[", verb, "] the model is not compiled");
  require<UsageError>(arena->size() > 0, "[", verb, "] the net has no weights to train");
  require<UsageError>(
      arena->trainable_size() > 0, "[", verb,
      "] no weight of the net is trainable: unfreeze a layer (set_trainable) and compile again");
}

void Model::compile(CompileOptions options) {
  require<UsageError>(options.optimizer != nullptr, "[compile] needs an optimizer");
  require<UsageError>(options.loss != nullptr, "[compile] needs a loss");
  require_no_null("[compile] metrics", options.metrics);
  require_no_null("[compile] weighted_metrics", options.weighted_metrics);
  state_->set_loss(options);
  state_->untrainable.clear();
  state_->optimizer.reset();  // the old one's hooks go before the new one's come
  if (has_changed(*state_->arena)) state_->arena = std::make_unique<ParameterArena>(*state_->module);
  state_->optimizer = std::make_unique<DistributedOptimizer>(std::move(options.optimizer),
                                                             *state_->communicator, options.distributed);
  state_->optimizer->attach(*state_->arena);
  state_->has_optimizer_of_run = false;
  state_->tuned_threads = 0;
}

History Model::fit(const Dataset& data, const FitOptions& options) {
  require_no_null("[fit] callbacks", options.callbacks);
  FitOptions chosen = options;
  if (!options.resume) {
    const std::string backup = find_backup(communicator(), options);
    if (!backup.empty()) load_weights(backup);
    chosen.resume = !backup.empty();
  }
  return Trainer(*this, *state_, data, chosen).run();
}

Evaluation Model::evaluate(const Dataset& data, std::int64_t batch_size) {
  return evaluate(data, EvaluateOptions{.batch_size = batch_size});
}

Evaluation Model::evaluate(const Dataset& data, const EvaluateOptions& options) {
  require<UsageError>(has_loss(), "[evaluate] the model is not compiled, so it has no loss",
                      state_->untrainable.empty() ? "" : "; ", state_->untrainable);
  require<UsageError>(options.batch_size >= 1, "[evaluate] batch_size must be at least 1, got ",
                      options.batch_size);
  require_fitting_inputs(*state_, data, "evaluate");
  check_sample_weights("[evaluate] sample_weight", options.sample_weight, data.size());
  if (state_->trainer) state_->trainer->lend_metrics();
  average_statistics(*state_);
  return Evaluator(*state_, data, options).run();
}

void Model::swap_average() {
  require<UsageError>(is_compiled(), "[swap_average] the model is not compiled, so it has no optimizer");
  state_->optimizer->swap_average();
}

Tensor Model::predict(const Tensor& inputs, std::int64_t batch_size) {
  return predict(inputs, EvaluateOptions{.batch_size = batch_size});
}

Tensor Model::predict(const Tensor& inputs, const EvaluateOptions& options) {
  const std::int64_t batch_size = options.batch_size;
  require<UsageError>(batch_size >= 1, "[predict] batch_size must be at least 1, got ", batch_size);
  require<UsageError>(inputs.rank() >= 1 && inputs.shape().tail(1) == module().input_shape(),
                      "[predict] the net takes inputs of shape ", module().input_shape(), ", got ",
                      inputs.shape(), " with the batch");
  const NoGrad no_grad;
  const std::int64_t count = inputs.size(0);
  Tensor outputs =
      Tensor::empty(module().output_shape().with_batch(count), state_->arena->values().options());
  for (std::int64_t begin = 0; begin < count; begin += batch_size) {
    const std::int64_t end = std::min(begin + batch_size, count);
    const Tensor batch = inputs.slice(0, begin, end).to(state_->backend()).to(state_->options.dtype);
    outputs.slice(0, begin, end)
        .copy_from(view_outputs(module(), batch, options.views, state_->context(false, {})).value());
    note_watched_batch(*state_->communicator);
  }
  return outputs;
}

namespace {

/// Keys for samples that have no index: no two of a run are the same.
Tensor make_keys(std::int64_t count, int rank, std::int64_t step, Backend& backend) {
  std::vector<std::int64_t> keys;
  for (std::int64_t row = 0; row < count; ++row) {
    keys.push_back((std::int64_t{rank} << 32) + row);
    keys.push_back(step);
  }
  return Tensor::from<std::int64_t>({count, 2}, keys, &backend);
}

void check_batch(const Module& net, const Tensor& inputs, const Tensor& targets,
                 const TrainBatchOptions& options) {
  const Shape& sample = net.input_shape();
  require<UsageError>(inputs.defined() && inputs.rank() >= 1 && inputs.shape().tail(1) == sample,
                      "[train_on_batch] the net takes inputs of shape ", sample, ", got ", inputs,
                      " with the batch");
  const std::int64_t count = inputs.size(0);
  require<UsageError>(targets.defined() && targets.rank() >= 1 && targets.size(0) == count,
                      "[train_on_batch] inputs ", inputs, " and targets ", targets,
                      " must have the same number of samples");
  const Tensor& keys = options.sample_keys;
  require<UsageError>(!keys.defined() || (keys.dtype() == DType::i64 && keys.shape() == Shape{count, 2}),
                      "[train_on_batch] sample_keys must be i64 (", count, ", 2), got ", keys);
  check_class_weights("[train_on_batch] class_weight", options.class_weight, net);
  check_sample_weights("[train_on_batch] sample_weight", options.sample_weight, count);
}

}  // namespace

double Model::train_on_batch(const Tensor& inputs, const Tensor& targets, const TrainBatchOptions& options) {
  state_->require_trainable("train_on_batch");
  TrainStep step(*state_, 0);
  step.begin();
  check_batch(module(), inputs, targets, options);
  Backend& backend = state_->backend();
  RunningTotals totals(backend, state_->metrics, {}, state_->arena.get());
  const Tensor keys = options.sample_keys.defined() ? options.sample_keys
                                                    : make_keys(inputs.size(0), state_->communicator->rank(),
                                                                state_->progress.steps, backend);
  state_->run.reset();  // whatever it was, this is another training
  state_->statistics_differ = true;
  const TensorOptions table{.dtype = state_->options.dtype, .backend = &backend};
  const LossWeightsInUse weights(  // rather than those of a `fit`, which may be running
      state_->loss_weights, {.of_classes = class_table(options.class_weight, table),
                             .of_batch = weight_table(options.sample_weight, table)});
  StepAudit audit(*state_, 0);
  step.add({inputs.to(backend).to(state_->options.dtype), targets.to(backend), keys.to(backend)},
           BatchPosition::last, totals, audit);
  step.update();
  ++state_->progress.steps;
  return totals.reduced(*state_->communicator).loss();
}

Module& Model::module() {
  return *state_->module;
}
ParameterArena& Model::arena() {
  return *state_->arena;
}
Optimizer& Model::optimizer() {
  require<UsageError>(is_compiled(), "[model] is not compiled, so it has no optimizer");
  return state_->optimizer->optimizer();
}
const Loss& Model::loss() const {
  require<UsageError>(has_loss(), "[model] is not compiled, so it has no loss");
  return *state_->loss;
}
Communicator& Model::communicator() {
  return *state_->communicator;
}
bool Model::is_compiled() const {
  return state_->optimizer != nullptr;
}
bool Model::has_loss() const {
  return state_->loss != nullptr;
}
ExchangeStatistics Model::exchange_statistics() const {
  return state_->optimizer ? state_->optimizer->statistics() : ExchangeStatistics();
}
const TrainingProgress& Model::progress() const {
  return state_->progress;
}
void Model::stop_training() {
  state_->stop = true;
}

}  // namespace ronde::inline v0
