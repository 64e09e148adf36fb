#include <ronde/distributed/self_communicator.h>
#include <ronde/models/saved_model.h>

#include "keras_file/json.h"
#include "model_state.h"
#include "weights/keras_config.h"
#include "weights/saved_layers.h"
#include "weights/saved_optimizer.h"

namespace ronde::inline v0 {

namespace {

/// Keras 2.15 names weights and options as they are written here; Keras 3 reads its files too.
constexpr const char* kWrittenAs = "2.15.0";

SavedModel capture_weights(const Model::State& model) {
  SavedModel file;
  file.keras_version = kWrittenAs;
  file.layers = save_layers(*model.module);
  return file;
}

SavedModel capture(const Model::State& model) {
  SavedModel file = capture_weights(model);
  file.model_config = model_config(*model.module);
  file.state = SavedState{model.progress.epochs, model.progress.steps, model.options.seed, {}};
  if (model.optimizer) {
    Optimizer& optimizer = model.optimizer->optimizer();
    file.training_config = training_config(optimizer, *model.loss, model.metrics);
    file.state->optimizer = save_optimizer(optimizer, *model.module);
  }
  return file;
}

/// Everything is compared before anything is assigned.
void restore(Model::State& model, const SavedModel& file) {
  std::vector<WeightAssignment> weights = match_layers(*model.module, file.layers);
  std::vector<WeightAssignment> slots;
  Optimizer* optimizer = model.optimizer ? &model.optimizer->optimizer() : nullptr;
  const bool has_state =
      optimizer && file.state && file.state->optimizer && file.state->optimizer->name == optimizer->name();
  if (has_state) slots = match_optimizer(*optimizer, *model.module, *file.state->optimizer);
  assign_all(weights);
  assign_all(slots);
  if (has_state) {
    optimizer->set_iterations(file.state->optimizer->iterations);
    optimizer->set_learning_rate(file.state->optimizer->learning_rate);
  }
  if (file.state) {
    model.progress.epochs = file.state->epochs;
    model.progress.steps = file.state->steps;
  }
}

/// Gives all ranks what rank 0 has read.
void broadcast_state(Model::State& model) {
  Communicator& communicator = *model.communicator;
  broadcast_parameters(*model.arena, communicator);
  if (model.optimizer) broadcast_optimizer_state(model.optimizer->optimizer(), communicator);
  const Tensor progress = Tensor::from<std::int64_t>({2}, {model.progress.epochs, model.progress.steps});
  communicator.broadcast(progress).wait();
  model.progress.epochs = progress.slice(0, 0, 1).to_vector<std::int64_t>()[0];
  model.progress.steps = progress.slice(0, 1, 2).to_vector<std::int64_t>()[0];
  model.arena->bump_version();
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

void restore_on_all(Model::State& model, const SavedModel& file, const std::string& path) {
  collectively(*model.communicator, [&] {
    if (model.communicator->rank() == 0) naming(path, [&] { restore(model, file); });
  });
  broadcast_state(model);
}

}  // namespace

void Model::save(const std::string& path) {
  collectively(communicator(), [&] {
    if (communicator().rank() == 0) write_saved_model(path, capture(*state_));
  });
}

void Model::save_weights(const std::string& path) {
  collectively(communicator(), [&] {
    if (communicator().rank() == 0) write_saved_model(path, capture_weights(*state_));
  });
}

void Model::load_weights(const std::string& path) {
  restore_on_all(*state_, read_on_main(communicator(), path), path);
}

Model Model::load(const std::string& path, ModelOptions options) {
  std::unique_ptr<Communicator> own;
  if (options.communicator == nullptr) own = std::make_unique<SelfCommunicator>();
  Communicator& communicator = own ? *own : *options.communicator;
  const SavedModel file = read_on_main(communicator, path);
  const ConfigValue config = from_json(broadcast_string(communicator, to_json(file.model_config)));
  const ConfigValue training = from_json(broadcast_string(communicator, to_json(file.training_config)));
  const std::string seed = broadcast_string(communicator, file.state ? std::to_string(file.state->seed) : "");
  if (!seed.empty()) options.seed = std::stoull(seed);

  std::unique_ptr<Model> model;
  collectively(communicator, [&] {
    naming(path, [&] {
      DescribedNet described = net_from_config(config);
      model = std::make_unique<Model>(std::move(described.net), described.input_shape, options);
    });
  });
  CompileOptions compile_options;
  naming(path, [&] { compile_options = compile_options_from_config(training); });
  if (compile_options.optimizer && compile_options.loss) model->compile(std::move(compile_options));
  restore_on_all(*model->state_, file, path);
  return std::move(*model);
}

}  // namespace ronde::inline v0
