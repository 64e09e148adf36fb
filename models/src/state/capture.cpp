#include "state/capture.h"

#include "state/weighted_metric.h"
#include "weights/keras_config.h"
#include "weights/keras_optimizer.h"
#include "weights/layers_by_class.h"
#include "weights/saved_layers.h"
#include "weights/saved_optimizer.h"
#include "weights/training_config.h"

namespace ronde::inline v0 {

namespace {

using Metrics = std::vector<std::shared_ptr<Metric>>;

/// Keras 2.15 names weights and options as they are written here; Keras 3 reads its files too.
constexpr const char* kWrittenAs = "2.15.0";

/// `metrics` and `weighted_metrics`, as they were given to `compile`.
std::pair<Metrics, Metrics> by_kind(const Metrics& all) {
  std::pair<Metrics, Metrics> kinds;
  for (const auto& metric : all)
    if (const auto* weighted = dynamic_cast<const WeightedMetric*>(metric.get()))
      kinds.second.push_back(weighted->inner());
    else
      kinds.first.push_back(metric);
  return kinds;
}

/// The settings Keras has no key for, and the schedule if its description has none.
ConfigDict settings_beside_keras(const Optimizer& optimizer) {
  ConfigDict settings = optimizer.own_settings();
  if (optimizer.schedule() == nullptr) return settings;
  const ConfigValue config = optimizer.config();
  const ConfigValue* rate = config.find("learning_rate");
  if (optimizer.decay() != 0.0 || rate == nullptr || !rate->is_dict())
    settings.emplace_back(kScheduleLeftOut, optimizer.schedule()->config());
  return settings;
}

}  // namespace

SavedModel capture_weights(const Model::State& model) {
  SavedModel file;
  file.keras_version = kWrittenAs;
  file.layers = save_layers(*model.module);
  file.layers_by_class = arrange_by_class(*model.module, file.layers);
  return file;
}

SavedModel capture(const Model::State& model, std::optional<SavedRun> run,
                   const std::vector<OptimizerSlot>& slots) {
  SavedModel file = capture_weights(model);
  file.model_config = model_config(*model.module);
  file.state.emplace();
  file.state->epochs = model.progress.epochs;
  file.state->steps = model.progress.steps;
  file.state->seed = model.options.seed;
  file.state->run = std::move(run);
  if (model.optimizer) {
    Optimizer& optimizer = model.optimizer->optimizer();
    const auto [plain, weighted] = by_kind(model.metrics);
    file.training_config = training_config(optimizer, *model.loss, *model.module, plain, weighted);
    file.state->optimizer = save_optimizer(optimizer, slots, *model.module);
    file.state->optimizer_settings = settings_beside_keras(optimizer);
  }
  return file;
}

}  // namespace ronde::inline v0
