#include "losses/loss_factory.h"

#include <algorithm>
#include <iterator>
#include <typeinfo>

#include <ronde/nn/loss.h>
#include <ronde/nn/regression_loss.h>

#include "config/config_options.h"
#include "config/known_names.h"

namespace ronde::inline v0 {

namespace {

using LossMaker = std::unique_ptr<Loss> (*)(const ConfigValue& options);

template <class Made>
std::unique_ptr<Loss> plain(const ConfigValue&) {
  return std::make_unique<Made>();
}

template <class Made>
std::unique_ptr<Loss> crossentropy(const ConfigValue& options) {
  const ConfigValue* from_logits = find_option(options, "from_logits");
  return std::make_unique<Made>(
      CrossentropyOptions{.from_logits = from_logits && from_logits->as_bool(),
                          .label_smoothing = number_option(options, "label_smoothing", 0.0)});
}

std::unique_ptr<Loss> huber(const ConfigValue& options) {
  return std::make_unique<Huber>(Huber::Options{.delta = number_option(options, "delta", 1.0)});
}

/// Keras' names of a loss: the function's, the class', the short one, what else it was called.
struct LossEntry {
  std::initializer_list<const char*> names;
  LossMaker make;
  const std::type_info* type;  ///< of what it makes
};

const LossEntry kLosses[] = {
    {{"categorical_crossentropy", "CategoricalCrossentropy"},
     crossentropy<CategoricalCrossentropy>,
     &typeid(CategoricalCrossentropy)},
    {{"sparse_categorical_crossentropy", "SparseCategoricalCrossentropy"},
     crossentropy<SparseCategoricalCrossentropy>,
     &typeid(SparseCategoricalCrossentropy)},
    {{"binary_crossentropy", "BinaryCrossentropy", "bce", "BCE"},
     crossentropy<BinaryCrossentropy>,
     &typeid(BinaryCrossentropy)},
    {{"mean_squared_error", "MeanSquaredError", "mse", "MSE"},
     plain<MeanSquaredError>,
     &typeid(MeanSquaredError)},
    {{"mean_absolute_error", "MeanAbsoluteError", "mae", "MAE"},
     plain<MeanAbsoluteError>,
     &typeid(MeanAbsoluteError)},
    {{"mean_absolute_percentage_error", "MeanAbsolutePercentageError", "mape", "MAPE"},
     plain<MeanAbsolutePercentageError>,
     &typeid(MeanAbsolutePercentageError)},
    {{"mean_squared_logarithmic_error", "MeanSquaredLogarithmicError", "msle", "MSLE"},
     plain<MeanSquaredLogarithmicError>,
     &typeid(MeanSquaredLogarithmicError)},
    {{"huber", "Huber", "huber_loss"}, huber, &typeid(Huber)},
    {{"log_cosh", "LogCosh", "logcosh"}, plain<LogCosh>, &typeid(LogCosh)},
    {{"poisson", "Poisson"}, plain<Poisson>, &typeid(Poisson)},
    {{"cosine_similarity", "CosineSimilarity"}, plain<CosineSimilarity>, &typeid(CosineSimilarity)},
    {{"kl_divergence", "KLDivergence", "kullback_leibler_divergence", "kld", "KLD"},
     plain<KLDivergence>,
     &typeid(KLDivergence)},
};

/// Options that Keras writes and that mean nothing else here.
void check_common(const std::string& name, const ConfigValue& options) {
  if (const ConfigValue* reduction = options.find("reduction")) {
    const std::string how = reduction->is_string() ? reduction->as_string() : "none";
    require<InputError>(how == "auto" || how == "sum_over_batch_size", "loss \"", name, "\": reduction \"",
                        how, "\" is not supported, only the mean over the batch");
  }
  require<InputError>(number_option(options, "axis", -1.0) == -1.0, "loss \"", name,
                      "\" is supported along the last axis only");
  require<InputError>(!find_option(options, "ignore_class"), "loss \"", name,
                      "\": ignore_class is not supported");
}

/// Null where no loss has this name.
const LossEntry* find_loss(const std::string& name) {
  const auto found = std::find_if(std::begin(kLosses), std::end(kLosses), [&](const LossEntry& entry) {
    return std::find(entry.names.begin(), entry.names.end(), name) != entry.names.end();
  });
  return found == std::end(kLosses) ? nullptr : found;
}

}  // namespace

std::vector<std::string> loss_names(Aliases aliases) {
  std::vector<std::string> names;
  for (const LossEntry& entry : kLosses)
    names.insert(names.end(), entry.names.begin(),
                 aliases == Aliases::with ? entry.names.end() : entry.names.begin() + 1);
  return names;
}

bool is_loss_name(const std::string& name) {
  return find_loss(name) != nullptr;
}

bool is_of_known_class(const Loss& loss) {
  return std::any_of(std::begin(kLosses), std::end(kLosses),
                     [&](const LossEntry& known) { return *known.type == typeid(loss); });
}

std::unique_ptr<Loss> make_loss(const std::string& name, const ConfigValue& options) {
  const LossEntry* entry = find_loss(name);
  if (entry == nullptr)
    throw InputError(unknown_name("loss", name, loss_names(Aliases::without), loss_names(Aliases::with)));
  check_common(name, options);
  return made_of_options([&] { return entry->make(options); });
}

}  // namespace ronde::inline v0
