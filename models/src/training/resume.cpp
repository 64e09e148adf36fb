#include "training/resume.h"

#include <algorithm>
#include <map>

#include <ronde/core/backend.h>
#include <ronde/core/build_info.h>
#include <ronde/core/thread_pool.h>
#include <ronde/core/whole_numbers.h>
#include <ronde/nn/batch_normalization.h>

#include "json/json.h"
#include "messages/warn.h"
#include "training/find_module.h"
#include "training/hash64.h"
#include "weights/keras_config.h"

namespace ronde::inline v0 {

namespace {

/// Texts as they are, everything else as JSON.
std::string text_of(const ConfigValue& value) {
  return value.is_string() ? value.as_string() : to_json(value);
}

const ConfigValue* find(const ConfigDict& dict, const std::string& key) {
  for (const auto& [name, value] : dict)
    if (name == key) return &value;
  return nullptr;
}

struct Difference {
  std::string key, before, now;
};

std::vector<Difference> differences(const ConfigDict& before, const ConfigDict& now) {
  std::vector<Difference> result;
  for (const auto& [key, value] : before) {
    const ConfigValue* other = find(now, key);
    if (other && text_of(value) != text_of(*other)) result.push_back({key, text_of(value), text_of(*other)});
  }
  return result;
}

/// The optimizer's settings without the rate, which belongs to its state.
void append_optimizer(const Optimizer& optimizer, ConfigDict& plan) {
  plan.emplace_back("optimizer", optimizer.name());
  const ConfigDict settings = settings_of(optimizer);
  for (const auto& [key, value] : settings) plan.emplace_back(cat("optimizer's ", key), value);
  for (const char* key : {"weight_decay", "clipnorm", "global_clipnorm", "clipvalue"})  // left out when 0
    if (find(settings, key) == nullptr) plan.emplace_back(cat("optimizer's ", key), 0.0);
}

/// Of numbers that may be too many to keep.
std::string identity_of(const std::vector<double>& values) {
  if (values.empty()) return "none";
  return cat(values.size(), " with hash ", hash64(values.data(), values.size() * sizeof(double)));
}

/// A list of all classes up to the last, if all are named, else those that are.
ConfigValue description_of(const ClassWeights& weights) {
  ConfigList list;
  ConfigDict dict;
  for (const auto& [which, weight] : weights.by_class()) {
    if (which == static_cast<std::int64_t>(list.size())) list.emplace_back(weight);
    dict.emplace_back(std::to_string(which), weight);
  }
  return list.size() == dict.size() ? ConfigValue(list) : ConfigValue(dict);
}

ConfigValue description_of(const ValidationFreq& freq) {
  if (const auto* every = std::get_if<std::int64_t>(&freq.chosen())) return *every;
  const auto& epochs = *std::get_if<ValidationFreq::Epochs>(&freq.chosen());
  return ConfigList(epochs.begin(), epochs.end());
}

/// Of the penalties of the weights, which may be too many to keep.
std::string identity_of(const ParameterArena& arena) {
  std::string text;
  for (const Segment& segment : arena.segments())
    if (!segment.regularizer.is_none())
      text += cat(segment.name, ": ", to_json(segment.regularizer.config()), "\n");
  if (text.empty()) return "none";
  return cat(std::count(text.begin(), text.end(), '\n'), " with hash ", hash64(text.data(), text.size()));
}

std::string precision_of(const ModelOptions& options) {
  return options.computed() == options.dtype ? cat(options.dtype) : "mixed_bfloat16";
}

/// Whether it trains with the statistics of what a rank computes at once.
bool takes_statistics_of_parts(const Module& module) {
  return dynamic_cast<const BatchNormalization*>(&module) != nullptr && module.trainable() &&
         !module.is_synchronized();
}

/// The most samples that a rank computes at once.
std::int64_t computed_at_once(const SamplerOptions& sampling, const FitOptions& options) {
  const std::int64_t share = ceil_divide<std::int64_t>(sampling.global_batch, sampling.world_size);
  return options.micro_batch > 0 ? std::min(options.micro_batch, share) : share;
}

/// The next of a name is the last.
using StatesByName = std::map<std::string, std::vector<const SavedCallback*>>;

StatesByName states_by_name(const std::vector<SavedCallback>& saved) {
  StatesByName states;
  for (auto one = saved.rbegin(); one != saved.rend(); ++one) states[one->name].push_back(&*one);
  return states;
}

}  // namespace

ConfigDict run_plan(const Model::State& model, const SamplerOptions& sampling, const FitOptions& options,
                    const TrainingPlan& plan) {
  ConfigDict entries{{"samples", sampling.size},
                     {"global_batch", sampling.global_batch},
                     {"steps_per_epoch", plan.steps_per_epoch},
                     {"shuffle", sampling.shuffle},
                     {"samples of a block", sampling.shuffle_block},
                     {"repeat", sampling.repeat},
                     {"passes", options.passes},
                     {"backward passes per step", options.backward_passes_per_step},
                     {"augmentation", options.augmentation != nullptr},
                     {"validation samples", options.validation ? options.validation->size() : 0},
                     {"epochs to a validation", description_of(options.validation_freq)},
                     {"virtual shards", sampling.virtual_shards},
                     {"seed", std::to_string(model.options.seed)},
                     {"precision", precision_of(model.options)},
                     {"loss", model.loss->name()}};
  for (const auto& [key, value] : model.loss->config()) entries.emplace_back("loss's " + key, value);
  entries.emplace_back("class weights", description_of(options.class_weight));
  entries.emplace_back("sample weights", identity_of(options.sample_weight));
  entries.emplace_back("regularizers", identity_of(*model.arena));
  append_optimizer(model.optimizer->optimizer(), entries);
  DistributedOptions exchange = model.optimizer->options();
  exchange.state = StateLayout::replicated;  // where the state is changes no value
  entries.emplace_back("exchange of gradients", to_string(exchange));
  return entries;
}

ConfigDict run_arithmetic(const Model::State& model, const SamplerOptions& sampling,
                          const FitOptions& options) {
  Backend& backend = model.backend();
  ConfigDict entries = {{"backend", backend.name()},
                        {"instruction set", instruction_set(model.options.computed())},
                        {"convolutions", convolution_algorithm()}};
  if (options.deterministic) return entries;
  entries.insert(entries.begin(), {{"ranks", model.communicator->size()},
                                   {"threads", backend.threads().size()},
                                   {"micro_batch", options.micro_batch}});
  if (find_module(*model.module, takes_statistics_of_parts) != nullptr)
    entries.emplace_back("samples of a batch norm's statistics", computed_at_once(sampling, options));
  return entries;
}

void require_same_plan(const ConfigDict& before, const ConfigDict& now) {
  for (const Difference& one : differences(before, now))
    throw UsageError(cat("[fit] cannot resume: the run to go on with has ", one.key, " ", one.before,
                         ", this one has ", one.now));
}

std::string describe_differences(const ConfigDict& before, const ConfigDict& now) {
  std::string text;
  for (const Difference& one : differences(before, now))
    text += cat(text.empty() ? "" : ", ", one.key, " ", one.now, " instead of ", one.before);
  return text;
}

std::vector<SavedCallback> save_callbacks(const std::vector<Callback*>& callbacks) {
  std::vector<SavedCallback> saved;
  for (const Callback* callback : callbacks) {
    const std::string name = callback->state_name();
    if (name.empty()) continue;
    CallbackState state = callback->state();
    saved.push_back({name, std::move(state.values), std::move(state.tensors)});
  }
  return saved;
}

void require_same_run(const std::vector<Callback*>& callbacks, const std::vector<SavedCallback>& saved) {
  StatesByName left = states_by_name(saved);
  for (const Callback* callback : callbacks) {
    std::vector<const SavedCallback*>& states = left[callback->state_name()];
    if (states.empty()) continue;
    callback->require_same_run({states.back()->values, states.back()->tensors});
    states.pop_back();
  }
}

std::vector<std::string> restore_callbacks(const std::vector<Callback*>& callbacks,
                                           const std::vector<SavedCallback>& saved) {
  StatesByName left = states_by_name(saved);
  std::vector<std::string> lines;
  for (Callback* callback : callbacks) {
    const std::string name = callback->state_name();
    if (name.empty()) continue;
    std::vector<const SavedCallback*>& states = left[name];
    if (states.empty()) {
      lines.push_back(cat("callback ", name, " was not in the run to go on with: it begins anew"));
    } else {
      callback->restore({states.back()->values, states.back()->tensors});
      states.pop_back();
    }
  }
  for (const auto& [name, states] : left)
    if (!states.empty())
      lines.push_back(cat("the run to go on with had a callback ", name, ", this one has not"));
  return lines;
}

void return_to_trained_weights(Model::State& model) {
  if (model.optimizer->optimizer().is_averaged()) model.optimizer->swap_average();
}

std::string find_backup(Communicator& communicator, const FitOptions& options) {
  std::string path;
  collectively(communicator, [&] {
    if (communicator.rank() != 0) return;
    for (const Callback* callback : options.callbacks) {
      if (path.empty())
        path = callback->resume_from([&](const std::string& line) { warn_or_print(options.warn, line); });
    }
  });
  return broadcast_string(communicator, path);
}

}  // namespace ronde::inline v0
