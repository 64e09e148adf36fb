#include "training/run_plan.h"

#include <algorithm>

#include <ronde/core/backend.h>
#include <ronde/core/build_info.h>
#include <ronde/core/counted.h>
#include <ronde/core/text.h>
#include <ronde/core/thread_pool.h>
#include <ronde/core/whole_numbers.h>
#include <ronde/nn/batch_normalization.h>
#include <ronde/nn/output_losses.h>

#include "json/json.h"
#include "state/find_module.h"
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

constexpr const char* kNothing = "none";

/// Whether a plan without this entry says that it has its default, which is nothing. Other entries are in
/// every plan, but those of an older Ronde.
bool may_be_missing(std::string_view key) {
  return key.starts_with("optimizer's ") || key.starts_with("loss's ") || key == "class weights" ||
         key == "sample weights" || key == "regularizers";
}

bool is_nothing(const std::string& text) {
  for (const char* nothing : {kNothing, "null", "false", "0", "0.0", "[]"})
    if (text == nothing) return true;
  return false;
}

/// Of what is in `some` and not in `other`, whose `value` of the difference it is.
void append_missing(const ConfigDict& some, const ConfigDict& other, std::string Difference::*value,
                    std::vector<Difference>& result) {
  for (const auto& [key, entry] : some) {
    if (!may_be_missing(key) || find(other, key) != nullptr || is_nothing(text_of(entry))) continue;
    Difference difference{key, kNothing, kNothing};
    difference.*value = text_of(entry);
    result.push_back(std::move(difference));
  }
}

std::vector<Difference> differences(const ConfigDict& before, const ConfigDict& now) {
  std::vector<Difference> result;
  for (const auto& [key, value] : before) {
    const ConfigValue* other = find(now, key);
    if (other && text_of(value) != text_of(*other)) result.push_back({key, text_of(value), text_of(*other)});
  }
  append_missing(before, now, &Difference::before, result);
  append_missing(now, before, &Difference::now, result);
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
  if (values.empty()) return kNothing;
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
  if (text.empty()) return kNothing;
  return cat(std::count(text.begin(), text.end(), '\n'), " with hash ", hash64(text.data(), text.size()));
}

/// A loss and a weight for each output that has one; null for a loss that is no OutputLosses.
ConfigValue description_of_parts(const Loss& loss) {
  const auto* parts = dynamic_cast<const OutputLosses*>(&loss);
  if (parts == nullptr) return {};
  ConfigDict outputs;
  for (const OutputLoss& part : parts->losses()) {
    ConfigDict described = part.loss->config();
    described.insert(described.begin(), {{"loss", part.loss->name()}, {"weight", part.weight}});
    outputs.emplace_back(part.output, std::move(described));
  }
  return outputs;
}

/// In [0, 1).
double trial_number(std::int64_t i, std::uint64_t seed) {
  return static_cast<double>(hash64(&i, sizeof i, seed) >> 11) * 0x1p-53;
}

/// By what becomes of a few pictures, to three digits, so that it is the same wherever it is computed: an
/// augmentation may be anybody's, and say nothing of itself.
std::string identity_of(const Augmentation* augmentation, const Shape& input_shape, DType dtype) {
  if (augmentation == nullptr) return kNothing;
  std::string text;
  for (std::int64_t trial = 0; trial < 4; ++trial) {
    std::vector<double> values(static_cast<std::size_t>(input_shape.count()));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = trial_number(static_cast<std::int64_t>(i), 0);
    const Tensor picture =
        Tensor::from<double>(input_shape, values).to(dtype == DType::f64 ? dtype : DType::f32);
    AugmentationRandom random(0, {.sample = trial, .epoch = trial});
    augmentation->apply(picture, random);
    double sum = 0.0;
    for (std::int64_t i = 0; const double value : picture.to_vector<double>())
      sum += value * (trial_number(i++, 1) - 0.5);
    text += formatted("%.3g ", sum);
  }
  return cat("with hash ", hash64(text.data(), text.size()));
}

/// What tells nothing of what a layer computes in this run: names, first weights, penalties, which are an
/// entry of their own, and what a callback may change in the middle of it.
bool is_beside(std::string_view key) {
  return key == "name" || key == "trainable" || key.ends_with("_initializer") ||
         key.ends_with("_regularizer");
}

ConfigValue what_is_computed(const ConfigValue& described) {
  if (described.is_list()) {
    ConfigList list;
    for (const ConfigValue& item : described.as_list()) list.push_back(what_is_computed(item));
    return list;
  }
  if (!described.is_dict()) return described;
  ConfigDict dict;
  for (const auto& [key, value] : described.as_dict())
    if (!is_beside(key)) dict.emplace_back(key, what_is_computed(value));
  return dict;
}

/// Of what weights do not tell, such as the rate of a dropout. A net of the program's own says nothing of it.
std::string identity_of(const Module& net) {
  const ConfigValue described = model_config(net);
  if (described.is_null()) return kNothing;
  std::string text = to_json(what_is_computed(described));
  for_each_module(net, [&text](const Module& module) {
    const auto* norm = dynamic_cast<const BatchNormalization*>(&module);
    if (norm) text += norm->moving_variance() == MovingVariance::biased ? ", biased" : ", unbiased";
  });
  return cat("with hash ", hash64(text.data(), text.size()));
}

/// Of the names of the weights that are not trained, as compile found them.
std::string identity_of_frozen(const ParameterArena& arena) {
  std::vector<std::string> names;
  for (const Segment& segment : arena.segments())
    if (segment.frozen) names.push_back(segment.name);
  if (names.empty()) return kNothing;
  std::sort(names.begin(), names.end());
  const std::string text = joined(names);
  return cat(names.size(), " with hash ", hash64(text.data(), text.size()));
}

/// A norm is a sum that ranks with parts of the optimizer's state round otherwise.
bool clips_by_norm(const Optimizer& optimizer) {
  const ConfigDict settings = settings_of(optimizer);
  return std::any_of(settings.begin(), settings.end(),
                     [](const auto& setting) { return setting.first.ends_with("clipnorm"); });
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

std::string named(const std::vector<std::string>& metrics) {
  return metrics.empty() ? kNothing : joined(metrics);
}

}  // namespace

ConfigDict run_identities(const Model::State& model, const FitOptions& options) {
  return {{"net", identity_of(*model.module)},
          {"frozen weights", identity_of_frozen(*model.arena)},
          {"augmentation's pictures",
           identity_of(options.augmentation, model.module->input_shape(), model.options.dtype)},
          {"sample weights", identity_of(options.sample_weight)},
          {"validation sample weights", identity_of(options.validation_sample_weight)}};
}

ConfigDict run_plan(const Model::State& model, const SamplerOptions& sampling, const FitOptions& options,
                    const TrainingPlan& plan, const ConfigDict& identities) {
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
  entries.emplace_back("losses of the outputs", description_of_parts(*model.loss));
  entries.emplace_back("class weights", description_of(options.class_weight));
  entries.insert(entries.end(), identities.begin(), identities.end());
  entries.emplace_back("regularizers", identity_of(*model.arena));
  append_optimizer(model.optimizer->optimizer(), entries);
  DistributedOptions exchange = model.optimizer->options();
  exchange.state = StateLayout::replicated;  // where the state is at most rounds otherwise
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
  const bool is_sharded = model.optimizer->options().state == StateLayout::sharded;
  if (clips_by_norm(model.optimizer->optimizer()))
    entries.emplace_back("optimizer state", is_sharded ? "sharded" : "replicated");
  return entries;
}

void require_same_plan(const ConfigDict& before, const ConfigDict& now) {
  for (const Difference& one : differences(before, now))
    throw UsageError(cat("[fit] cannot resume: the run to go on with has ", one.key, " ", one.before,
                         ", this one has ", one.now, ": give the same"));
}

void require_same_metrics(const SavedRun& run, const std::vector<std::string>& metrics, std::size_t sums) {
  if (run.epoch_step == 0) return;
  if (run.metrics)
    require<UsageError>(*run.metrics == metrics,
                        "[fit] cannot resume within an epoch: the run to go on with has metrics ",
                        named(*run.metrics), ", this one has ", named(metrics));
  for (const std::vector<double>& row : run.totals)
    require<UsageError>(row.size() == sums, "[fit] cannot resume within an epoch: the run to go on with has ",
                        counted(row.size(), "sum"), " of loss and metrics, this one has ", sums, " (metrics ",
                        named(metrics), ")");
}

std::string describe_differences(const ConfigDict& before, const ConfigDict& now) {
  std::string text;
  for (const Difference& one : differences(before, now))
    text += cat(text.empty() ? "" : ", ", one.key, " ", one.now, " instead of ", one.before);
  return text;
}

}  // namespace ronde::inline v0
