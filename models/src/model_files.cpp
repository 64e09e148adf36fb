#include <ronde/distributed/self_communicator.h>
#include <ronde/models/saved_model.h>
#include <ronde/nn/graph.h>

#include "json/json.h"
#include "keras_file/model_ending.h"
#include "state/capture.h"
#include "state/model_state.h"
#include "training/evaluator.h"
#include "training/trainer.h"
#include "weights/keras2_calls.h"
#include "weights/keras_config.h"
#include "weights/keras_optimizer.h"
#include "weights/layers_by_class.h"
#include "weights/left_out.h"
#include "weights/named_weights_file.h"
#include "weights/saved_layers.h"
#include "weights/saved_optimizer.h"
#include "weights/saved_run.h"
#include "weights/training_config.h"

namespace ronde::inline v0 {

namespace {

/// Of the weights, for errors: what is wrong with a file may be that it is not for this net.
std::vector<WeightAssignment> match_net(const Module& net, const SavedModel& file) {
  try {
    return match_file(net, file);
  } catch (const InputError& error) {
    throw InputError(cat("is of another net: ", error.what()));
  }
}

/// Everything is compared before anything is assigned. Returns the optimizer's whole state, nothing if the
/// file has none.
std::vector<OptimizerSlot> restore(Model::State& model, const SavedModel& file) {
  std::vector<WeightAssignment> weights = match_net(*model.module, file);
  std::vector<WeightAssignment> state;
  std::vector<OptimizerSlot> slots;
  Optimizer* optimizer = model.optimizer ? &model.optimizer->optimizer() : nullptr;
  std::optional<SavedOptimizer> saved;
  if (optimizer) saved = find_saved_optimizer(file, *optimizer, *model.module);
  if (saved) {
    slots = model.optimizer->whole_slots();
    state = match_optimizer(*optimizer, slots, *model.module, *saved);
  }
  assign_all(weights);
  assign_all(state);
  if (saved) {
    optimizer->set_iterations(saved->iterations);
    optimizer->set_learning_rate(saved->learning_rate);
    optimizer->set_averaged(is_averaged(*saved));
  }
  model.run.reset();
  model.has_optimizer_of_run = saved.has_value();
  if (!file.state) return slots;
  model.progress.epochs = file.state->epochs;
  model.progress.steps = file.state->steps;
  model.run = file.state->run;
  return slots;
}

/// Gives all ranks what rank 0 has read.
void broadcast_state(Model::State& model, const std::vector<OptimizerSlot>& slots) {
  Communicator& communicator = *model.communicator;
  broadcast_parameters(*model.arena, communicator);
  if (model.optimizer) model.optimizer->broadcast_state(slots);
  broadcast_run(communicator, model.run);
  const Tensor progress = Tensor::from<std::int64_t>(
      {3}, {model.progress.epochs, model.progress.steps, std::int64_t{model.has_optimizer_of_run}});
  communicator.broadcast(progress).wait();
  const std::vector<std::int64_t> values = progress.to_vector<std::int64_t>();
  model.progress.epochs = values[0];
  model.progress.steps = values[1];
  model.has_optimizer_of_run = values[2] != 0;
  model.statistics_differ = false;
  model.arena->bump_version();
}

/// Runs `f`, which makes what a file describes, with the path put before its errors: whatever a layer has to
/// say against its inputs or its options is a fault of the file.
template <class F>
void describing(const std::string& path, F&& f) {
  try {
    f();
  } catch (const Error& error) {
    throw InputError(cat(path, ": ", error.what()));
  }
}

/// Runs `f` with the path put before the InputErrors of what does not fit.
template <class F>
void naming(const std::string& path, F&& f) {
  try {
    f();
  } catch (const InputError& error) {
    throw InputError(cat(path, ": ", error.what()));
  }
}

/// Rank 0 reads; the others get nothing.
SavedModel read_on_main(Communicator& communicator, const std::string& path) {
  SavedModel file;
  collectively(communicator, [&] {
    if (communicator.rank() == 0) file = read_saved_model(path);
  });
  return file;
}

/// Without an optimizer that is known, as far as an evaluation needs it.
void compile_as_described(Model& model, Model::State& state, CompileOptions options) {
  if (options.optimizer && options.loss)
    model.compile(std::move(options));
  else if (options.loss)
    state.set_loss(options);
}

/// More than a count of updates; and than a count of 0 and a learning rate, which Keras 3 writes before the
/// first update.
bool has_optimizer_state(const SavedModel& file) {
  const std::vector<SavedWeight>& kept = file.optimizer_weights;
  const bool is_new = kept.size() == 2 && kept[0].values.rank() == 0 && kept[1].values.rank() == 0 &&
                      kept[0].values.item() == 0.0;
  return (kept.size() > 1 && !is_new) || (file.state && file.state->optimizer);
}

void restore_on_all(Model::State& model, const SavedModel& file, const std::string& path) {
  std::vector<OptimizerSlot> slots;
  collectively(*model.communicator, [&] {
    if (model.communicator->rank() == 0) naming(path, [&] { slots = restore(model, file); });
  });
  broadcast_state(model, slots);
  model.source = path;
}

/// A file of nothing but named arrays: the optimizer and the progress stay as they are.
void load_named_weights(Model::State& model, const std::string& path) {
  collectively(*model.communicator, [&] {
    if (model.communicator->rank() != 0) return;
    const NamedTensors weights = read_named_weights(path);
    naming(path, [&] { assign_named_weights(*model.module, weights); });
  });
  broadcast_parameters(*model.arena, *model.communicator);
  model.statistics_differ = false;
  model.arena->bump_version();
  model.run.reset();
  model.source = path;
}

}  // namespace

void Model::save(const std::string& path, SaveOptions options) {
  require_model_ending("save", path);
  average_statistics(*state_);
  std::vector<OptimizerSlot> slots;
  if (state_->optimizer) slots = state_->optimizer->gather_slots();
  std::optional<SavedRun> run = state_->trainer ? state_->trainer->saved_run() : state_->run;
  collectively(communicator(), [&] {
    if (communicator().rank() != 0) return;
    SavedModel file = capture(*state_, std::move(run), slots);
    if (options.keras_optimizer_state == KerasOptimizerState::tf2) {
      require_order_of_keras2(*state_->module);
      file.model_config = with_calls_of_keras2(file.model_config);
    }
    if (state_->optimizer)
      file.optimizer_weights = save_keras_optimizer(state_->optimizer->optimizer(), slots, *state_->module,
                                                    options.keras_optimizer_state, layout_for(path));
    write_saved_model(path, std::move(file));
  });
}

void Model::save_weights(const std::string& path) {
  if (!is_named_weights_file(path)) require_model_ending("save_weights", path);
  average_statistics(*state_);
  collectively(communicator(), [&] {
    if (communicator().rank() != 0) return;
    if (is_named_weights_file(path)) return write_named_weights(path, *state_->module);
    write_saved_model(path, capture_weights(*state_));
  });
}

void Model::load_weights(const std::string& path) {
  if (is_named_weights_file(path)) return load_named_weights(*state_, path);
  restore_on_all(*state_, read_on_main(communicator(), path), path);
}

Model Model::load(const std::string& path, ModelOptions options) {
  std::unique_ptr<Communicator> own;
  if (options.communicator == nullptr) own = std::make_unique<SelfCommunicator>();
  Communicator& communicator = own ? *own : *options.communicator;
  const SavedModel file = read_on_main(communicator, path);
  const ConfigValue config = from_json(broadcast_string(communicator, to_json(file.model_config)));
  const ConfigValue training = from_json(broadcast_string(communicator, to_json(file.training_config)));
  const ConfigValue settings = from_json(
      broadcast_string(communicator, to_json(file.state ? file.state->optimizer_settings : ConfigDict())));
  const std::string version = broadcast_string(communicator, file.keras_version);
  const std::string seed = broadcast_string(communicator, file.state ? std::to_string(file.state->seed) : "");
  if (!seed.empty()) options.seed = std::stoull(seed);

  std::unique_ptr<Model> model;
  collectively(communicator, [&] {
    describing(path, [&] {
      DescribedNet described = net_from_config(config, version, options.input_shape);
      described.net->build(described.input_shape, {.dtype = options.dtype,
                                                   .backend = options.backend,
                                                   .compute_dtype = options.compute_dtype,
                                                   .draws = false});
      model = std::make_unique<Model>(std::move(described.net), described.input_shape, options);
    });
  });
  DescribedTraining described;
  naming(path, [&] {
    described = training_from_config(training, settings.as_dict(), version, several_outputs(model->module()));
  });
  const LeftOut left_out = find_left_out(path, config, model->module(), described, options);
  if (communicator.rank() == 0) left_out.say(options.warn);
  const double rate = described.options.optimizer ? described.options.optimizer->learning_rate() : 0.0;
  compile_as_described(*model, *model->state_, std::move(described.options));
  restore_on_all(*model->state_, file, path);
  if (model->is_compiled() && has_optimizer_state(file) && !model->state_->has_optimizer_of_run)
    warn_or_print(options.warn, cat(path, ": left out: the state of its optimizer, which starts anew"));
  // It goes with the described schedule; the run's schedule and rate may have shared it out otherwise.
  if (model->is_compiled() && model->optimizer().schedule()) model->optimizer().set_learning_rate(rate);
  model->state_->untrainable = left_out.why_untrainable(model->is_compiled());
  return std::move(*model);
}

}  // namespace ronde::inline v0
