/// What Keras' callbacks did in scripted trainings (tests/golden/callbacks_kerasV.json), and the same hooks
/// for ours.
#pragma once

#include <limits>

#include <ronde/models/callback.h>
#include <ronde/models/file_io.h>
#include <ronde/nn/regression_loss.h>

#include "json/json.h"
#include "models/testing.h"

namespace ronde::test {

inline ConfigValue keras_callbacks(const std::string& version) {
  return from_json(read_file(golden("callbacks_keras" + version + ".json")));
}

/// JSON has no NaN and no infinity: there they are texts.
inline double number_of(const ConfigValue& value) {
  if (!value.is_string()) return value.as_double();
  return value.as_string() == "NaN" ? std::numeric_limits<double>::quiet_NaN()
                                    : std::numeric_limits<double>::infinity();
}

inline Logs logs_of(const ConfigValue& value) {
  Logs logs;
  for (const auto& [name, number] : value.as_dict()) logs.set(name, number_of(number));
  return logs;
}

inline std::vector<double> numbers_of(const ConfigValue& value) {
  std::vector<double> numbers;
  for (const ConfigValue& number : value.as_list()) numbers.push_back(number_of(number));
  return numbers;
}

/// One weight, with SGD.
inline Model one_weight_model(double rate, double momentum = 0.0, Communicator* communicator = nullptr) {
  Model model(std::make_unique<Sequential>(Dense({.units = 1, .use_bias = false})), {1},
              {.communicator = communicator, .dtype = DType::f64, .backend = &backend("cpu")});
  model.compile({.optimizer = std::make_unique<SGD>(SGDOptions{.learning_rate = rate, .momentum = momentum}),
                 .loss = std::make_unique<MeanSquaredError>(),
                 .metrics = {std::make_shared<Accuracy>()}});
  return model;
}

/// Calls the hooks of a callback as `fit` does, with logs from outside instead of training.
class CallbackScript {
 public:
  CallbackScript(Model& model, std::int64_t epochs) : model_(&model) {
    plan_ = {.epochs = epochs,
             .steps_per_epoch = 1,
             .has_validation = true,
             .metrics = {{"accuracy", MetricDirection::larger}}};
  }
  TrainingPlan& plan() { return plan_; }

  void begin(Callback& callback) {
    callback_ = &callback;
    callback.attach(*model_, plan_);
    callback.on_train_begin(*model_, plan_);
  }
  void epoch(std::int64_t epoch, Logs logs) {
    callback_->on_epoch_begin(epoch);
    rates_at_begin.push_back(model_->optimizer().learning_rate());
    model_->arena().values().fill(static_cast<double>(epoch + 1));  // the number of epochs done
    callback_->on_epoch_end(epoch, logs);
    rates_at_end.push_back(model_->optimizer().learning_rate());
    const double* rate = logs.find("learning_rate");
    logged.push_back(rate ? *rate : std::numeric_limits<double>::quiet_NaN());
  }
  void end() { callback_->on_train_end({}); }
  double weight() const { return model_->module().parameters()[0].variable.value().to_vector<double>()[0]; }

  std::vector<double> rates_at_begin, rates_at_end, logged;  ///< of each epoch

 private:
  Model* model_;
  Callback* callback_ = nullptr;
  TrainingPlan plan_;
};

}  // namespace ronde::test
