// Our callbacks against what Keras' did with the same logs: rates, texts, files, ends, what they remember.
#include "models/callbacks/keras_callbacks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include <ronde/models/csv_logger.h>
#include <ronde/models/early_stopping.h>
#include <ronde/models/lambda_callback.h>
#include <ronde/models/learning_rate_scheduler.h>
#include <ronde/models/reduce_lr_on_plateau.h>
#include <ronde/models/terminate_on_nan.h>

#include "support/temp_dir.h"

namespace ronde::test {
namespace {

/// The keyword arguments of a callback in Python.
class Arguments {
 public:
  explicit Arguments(ConfigValue values) : values_(std::move(values)) {}

  double number(const char* key, double otherwise) const {
    const ConfigValue* value = values_.find(key);
    return value ? value->as_double() : otherwise;
  }
  std::int64_t integer(const char* key, std::int64_t otherwise) const {
    const ConfigValue* value = values_.find(key);
    return value ? value->as_int() : otherwise;
  }
  std::string text(const char* key, const char* otherwise) const {
    const ConfigValue* value = values_.find(key);
    return value ? value->as_string() : otherwise;
  }
  bool flag(const char* key) const {
    const ConfigValue* value = values_.find(key);
    return value && value->as_bool();
  }
  bool has(const char* key) const { return values_.find(key) != nullptr; }
  int verbose() const { return static_cast<int>(integer("verbose", 0)); }
  MonitorMode mode() const {
    return text("mode", "auto") == "min" ? MonitorMode::min : MonitorMode::automatic;
  }

 private:
  ConfigValue values_;
};

double schedule(const std::string& name, std::int64_t epoch, double rate) {
  if (name == "drop_by_tenth") return epoch < 2 ? rate : rate * 0.9;
  if (name == "inverse") return 0.5 / static_cast<double>(epoch + 1);
  return epoch > 0 ? 1e-5 : 1e-4;  // "tiny"
}

std::unique_ptr<Callback> make_callback(const std::string& name, const Arguments& given,
                                        const std::string& path) {
  if (name == "ReduceLROnPlateau")
    return std::make_unique<ReduceLROnPlateau>(
        ReduceLROnPlateauOptions{.monitor = given.text("monitor", "val_loss"),
                                 .factor = given.number("factor", 0.1),
                                 .patience = given.integer("patience", 10),
                                 .verbose = given.verbose(),
                                 .mode = given.mode(),
                                 .min_delta = given.number("min_delta", 1e-4),
                                 .cooldown = given.integer("cooldown", 0),
                                 .min_lr = given.number("min_lr", 0)});
  if (name == "EarlyStopping")
    return std::make_unique<EarlyStopping>(EarlyStoppingOptions{
        .monitor = given.text("monitor", "val_loss"),
        .min_delta = given.number("min_delta", 0),
        .patience = given.integer("patience", 0),
        .verbose = given.verbose(),
        .mode = given.mode(),
        .baseline = given.has("baseline") ? std::optional(given.number("baseline", 0)) : std::nullopt,
        .restore_best_weights = given.flag("restore_best_weights"),
        .start_from_epoch = given.integer("start_from_epoch", 0)});
  if (name == "LearningRateScheduler")
    return std::make_unique<LearningRateScheduler>(LearningRateSchedulerOptions{
        .schedule = [which = given.text("schedule", "")](
                        std::int64_t epoch, double rate) { return schedule(which, epoch, rate); },
        .verbose = given.verbose()});
  if (name == "CSVLogger")
    return std::make_unique<CSVLogger>(CSVLoggerOptions{
        .filename = path, .separator = given.text("separator", ",")[0], .append = given.flag("append")});
  return nullptr;
}

/// Keras' results that Keras 2 and 3 differ in; we follow 3.
bool differs_in_keras2(const Arguments& given, const std::string& key) {
  if (given.flag("restore_best_weights")) return key == "weight" || key == "text";
  return given.has("min_lr") && (key == "text" || key == "wait");
}

void expect_equal(const std::vector<double>& ours, const std::vector<double>& keras, const char* what) {
  ASSERT_EQ(ours.size(), keras.size()) << what;
  for (std::size_t i = 0; i < ours.size(); ++i)
    EXPECT_TRUE(ours[i] == keras[i] || (std::isnan(ours[i]) && std::isnan(keras[i])))
        << what << " of epoch " << i << ": " << ours[i] << " instead of " << keras[i];
}

/// What the callback remembers, by Keras' names.
void expect_memory(const Callback& callback, const ConfigValue& result, auto&& is_compared) {
  const ConfigValue memory(callback.state().values);
  for (const auto& [keras, ours] : {std::pair{"best", "best"},
                                    {"wait", "wait"},
                                    {"best_epoch", "best_epoch"},
                                    {"cooldown_counter", "cooldown_left"}}) {
    const ConfigValue* expected = result.find(keras);
    if (!expected || !is_compared(keras)) continue;
    EXPECT_EQ(memory.at(ours).as_double(), expected->as_double()) << keras;
  }
}

/// What a checkpoint keeps of a callback.
CallbackState saved(const Callback& callback) {
  CallbackState state = callback.state();
  state.values = from_json(to_json(ConfigValue(state.values))).as_dict();
  return state;
}

/// With `interruption` a new callback takes over after so many epochs, as in a resumed run.
void replay(const ConfigValue& sequence, bool keras2, std::int64_t interruption) {
  const Arguments given(sequence.at("options"));
  const ConfigValue& result = sequence.at("result");
  const auto is_compared = [&](const std::string& key) { return !keras2 || !differs_in_keras2(given, key); };
  const TempDir dir;
  const std::string path = dir / "a.csv";
  if (const ConfigValue* before = sequence.find("before")) atomic_write_file(path, before->as_string());

  const auto make = [&] { return make_callback(sequence.at("callback").as_string(), given, path); };
  std::unique_ptr<Callback> callback = make();
  const ConfigList& epochs = sequence.at("epochs").as_list();
  Model model = one_weight_model(sequence.at("rate").as_double());
  CallbackScript script(model, static_cast<std::int64_t>(epochs.size()));
  const auto stopped = [&] {
    const auto* stopping = dynamic_cast<const EarlyStopping*>(callback.get());
    return stopping && stopping->stopped_epoch() >= 0;
  };
  const std::string text = printed([&] {
    script.begin(*callback);
    for (std::int64_t epoch = 0; epoch < script.plan().epochs && !stopped(); ++epoch) {
      if (epoch == interruption) {
        const CallbackState state = saved(*callback);
        callback = make();
        script.plan().initial_epoch = epoch;
        script.plan().resumed = true;
        script.begin(*callback);
        if (!callback->state_name().empty()) callback->restore(state);
      }
      script.epoch(epoch, logs_of(epochs[static_cast<std::size_t>(epoch)]));
    }
    script.end();
  });

  expect_equal(script.rates_at_begin, numbers_of(result.at("rates_at_begin")), "rate at begin");
  expect_equal(script.rates_at_end, numbers_of(result.at("rates_at_end")), "rate at end");
  if (const ConfigValue* logged = result.find("logged")) {
    expect_equal(script.logged, numbers_of(*logged), "logged rate");
  }
  if (is_compared("text")) {
    EXPECT_EQ(text, result.at("text").as_string());
  }
  if (is_compared("weight")) {
    EXPECT_EQ(script.weight(), result.at("weight").as_double());
  }
  expect_memory(*callback, result, is_compared);
  if (const ConfigValue* file = result.find("file")) {
    EXPECT_EQ(read_file(path), file->as_string());
  }
}

class KerasCallbacks : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Versions, KerasCallbacks, ::testing::Values("2.15.0", "3.15.1"),
                         [](const auto& version) { return version.param[0] == '2' ? "Keras2" : "Keras3"; });

TEST_P(KerasCallbacks, ScriptedTrainingsEndAlike) {
  const ConfigValue keras = keras_callbacks(GetParam());
  ASSERT_GE(keras.at("cases").as_list().size(), 25u);
  for (const ConfigValue& sequence : keras.at("cases").as_list()) {
    SCOPED_TRACE(sequence.at("callback").as_string() + " " + to_json(sequence.at("options")));
    replay(sequence, GetParam()[0] == '2', -1);
  }
}

TEST(KerasCallbacksResumed, GoOnAsIfNothingHadHappened) {
  const ConfigValue keras = keras_callbacks("3.15.1");
  for (const ConfigValue& sequence : keras.at("cases").as_list()) {
    const std::int64_t epochs = sequence.at("result").at("epochs").as_int();
    for (std::int64_t interruption = 1; interruption < epochs; ++interruption) {
      SCOPED_TRACE(cat(sequence.at("callback").as_string(), " ", to_json(sequence.at("options")), " after ",
                       interruption, " epochs"));
      replay(sequence, false, interruption);
    }
  }
}

/// "on_epoch_end 0: accuracy loss val_accuracy val_loss", keys sorted (Keras 2 and 3 order them differently).
std::string call(const std::string& hook, std::optional<std::int64_t> number, std::vector<std::string> keys) {
  std::sort(keys.begin(), keys.end());
  std::string text = hook + (number ? cat(" ", *number) : "") + ":";
  for (const std::string& key : keys) text += " " + key;
  return text;
}

std::vector<std::string> calls_of(const ConfigValue& recorded) {
  std::vector<std::string> calls;
  for (const ConfigValue& entry : recorded.at("calls").as_list()) {
    const ConfigList& parts = entry.as_list();
    std::vector<std::string> keys;
    for (const ConfigValue& key : parts[2].as_list()) keys.push_back(key.as_string());
    calls.push_back(call(parts[0].as_string(),
                         parts[1].is_null() ? std::nullopt : std::optional(parts[1].as_int()), keys));
  }
  return calls;
}

struct RecordedFit {
  std::vector<std::string> calls;
  History history;
  std::string text;
};

/// 6 samples in batches of 2, with validation, as the golden file's fit.
RecordedFit recorded_fit(const std::vector<double>& targets, std::int64_t epochs,
                         std::vector<Callback*> before) {
  RecordedFit fit;
  const auto add = [&](const char* hook, std::optional<std::int64_t> number, const Logs& logs) {
    std::vector<std::string> keys;
    for (const auto& [name, value] : logs.entries()) keys.push_back(name);
    fit.calls.push_back(call(hook, number, keys));
  };
  LambdaCallback recorder(
      {.on_train_begin = [&](Model&, const TrainingPlan&) { add("on_train_begin", {}, {}); },
       .on_train_end = [&](const Logs& logs) { add("on_train_end", {}, logs); },
       .on_epoch_begin = [&](std::int64_t epoch) { add("on_epoch_begin", epoch, {}); },
       .on_epoch_end = [&](std::int64_t epoch, Logs& logs) { add("on_epoch_end", epoch, logs); },
       .on_train_batch_begin = [&](std::int64_t batch) { add("on_train_batch_begin", batch, {}); },
       .on_train_batch_end = [&](std::int64_t batch,
                                 const Logs& logs) { add("on_train_batch_end", batch, logs); },
       .on_test_begin = [&] { add("on_test_begin", {}, {}); },
       .on_test_end = [&](const Logs& logs) { add("on_test_end", {}, logs); },
       .wants_batch_logs = true});
  before.push_back(&recorder);
  const Tensor ones = Tensor::full({6, 1}, 1.0, {.dtype = DType::f64, .backend = &backend("cpu")});
  const InMemoryDataset data(ones, Tensor::from<double>({6, 1}, targets)), validation(ones, ones);
  Model model = one_weight_model(0.1);
  fit.text = printed([&] {
    fit.history = model.fit(data, {.batch_size = 2,
                                   .epochs = epochs,
                                   .shuffle = false,
                                   .validation = &validation,
                                   .callbacks = before,
                                   .verbose = 0});
  });
  return fit;
}

TEST_P(KerasCallbacks, FitCallsTheHooksInKerasOrder) {
  const ConfigValue keras = keras_callbacks(GetParam()).at("hooks");
  const RecordedFit fit = recorded_fit({0.5, 0.5, 0.5, 0.5, 0.5, 0.5}, 2, {});
  EXPECT_EQ(fit.calls, calls_of(keras));
  std::vector<std::string> keys;
  for (const auto& [name, values] : fit.history.values) keys.push_back(name);
  std::vector<std::string> expected;
  for (const ConfigValue& key : keras.at("history_keys").as_list()) expected.push_back(key.as_string());
  EXPECT_EQ(keys, expected);
  EXPECT_EQ(fit.history.epochs, (std::vector<std::int64_t>{0, 1}));
}

TEST_P(KerasCallbacks, NaNEndsTheEpochAsInKeras) {
  const ConfigValue keras = keras_callbacks(GetParam()).at("hooks_with_nan");
  TerminateOnNaN guard;
  const RecordedFit fit = recorded_fit({0.5, 0.5, std::nan(""), 0.5, 0.5, 0.5}, 3, {&guard});
  EXPECT_EQ(fit.calls, calls_of(keras));
  EXPECT_EQ(fit.text, keras.at("text").as_string());
  EXPECT_EQ(fit.history.epochs, std::vector<std::int64_t>{0});
  EXPECT_TRUE(guard.stopped());
}

}  // namespace
}  // namespace ronde::test
