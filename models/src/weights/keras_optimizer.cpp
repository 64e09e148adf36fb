#include "weights/keras_optimizer.h"

#include <algorithm>

#include <ronde/core/text.h>
#include <ronde/nn/nadam.h>
#include <ronde/nn/weight_layout.h>

#include "weights/layers_by_class.h"
#include "weights/saved_optimizer.h"

namespace ronde::inline v0 {

namespace {

enum class Order { slot_by_slot, pairs };

/// Which slot of which weight comes next.
struct Entry {
  std::size_t slot, weight;
};

bool has_pair(const std::string& optimizer) {
  static constexpr const char* kPairs[] = {"Adam", "AdamW", "Adadelta", "Adamax", "Nadam"};
  return std::find(std::begin(kPairs), std::end(kPairs), optimizer) != std::end(kPairs);
}

/// The moving averages come first.
std::vector<Entry> entries_in(Order order, const Optimizer& optimizer, std::size_t slots,
                              std::size_t weights) {
  std::vector<Entry> entries;
  const auto append = [&](std::size_t begin, std::size_t end) {
    for (std::size_t weight = 0; weight < weights; ++weight)
      for (std::size_t slot = begin; slot < end; ++slot) entries.push_back({slot, weight});
  };
  std::size_t slot = 0;
  if (optimizer.moving_average()) append(0, ++slot);
  if (order == Order::pairs && has_pair(optimizer.name())) append(slot, slot + 2), slot += 2;
  for (; slot < slots; ++slot) append(slot, slot + 1);
  return entries;
}

std::vector<Parameter> trained_weights(const Module& module) {
  std::vector<Parameter> weights = weights_in_keras_order(module);
  std::erase_if(weights, [](const Parameter& weight) { return !weight.variable.requires_grad(); });
  for (Parameter& weight : weights) weight.name = name_alone(module, weight.name);
  return weights;
}

/// Keras knows no trained weights beside averages.
std::string keras_name(const std::string& slot) {
  return slot == kTrainedSlot ? kAverageSlot : slot;
}

/// Instead the averages, which are the weights then.
void leave_out_trained(const std::vector<Parameter>& weights, SavedOptimizer& saved) {
  if (!is_averaged(saved)) return;
  SavedSlot& average = saved.slots.front();
  average = {kAverageSlot, {}};
  for (const Parameter& weight : weights) average.weights.push_back({weight.name, to_keras_layout(weight)});
}

/// What the file says of its optimizer; null when it says nothing.
const ConfigValue* optimizer_config(const SavedModel& file) {
  if (!file.training_config.is_dict()) return nullptr;
  const ConfigValue* config = file.training_config.find("optimizer_config");
  return config != nullptr && config->is_dict() ? config : nullptr;
}

std::string class_name_in(const SavedModel& file) {
  const ConfigValue* config = optimizer_config(file);
  const ConfigValue* name = config != nullptr ? config->find("class_name") : nullptr;
  return name != nullptr && name->is_string() ? name->as_string() : "";
}

bool is_scalar(const SavedWeight& weight) {
  return weight.values.rank() == 0;
}

/// Keras' list, cut into its parts.
struct KerasState {
  std::int64_t iterations = 0;
  std::optional<double> learning_rate;
  std::vector<SavedWeight> slots;
};

/// What Keras 2's SGD keeps also without momentum.
SavedSlot zeros_for(const std::vector<Parameter>& weights) {
  SavedSlot slot{"momentum", {}};
  for (const Parameter& weight : weights)
    slot.weights.push_back({weight.name, Tensor::zeros(keras_shape(weight))});
  return slot;
}

/// Keras 3 keeps no rate that a schedule gives.
bool has_schedule(const Optimizer& optimizer) {
  for (const auto& [key, value] : optimizer.config())
    if (key == "learning_rate") return value.is_dict();
  return false;
}

/// Whether all that follows the count is of weights, of each as many, the first of which is a scalar and no
/// rate. Without slots Keras 2's SGD keeps its last steps as a momentum, Keras 3's nothing but a rate.
bool begin_with_weight(const SavedModel& file, std::size_t slots, const std::vector<Parameter>& trained) {
  const bool is_first_scalar = !trained.empty() && trained.front().variable.rank() == 0;
  const bool is_kept = slots > 0 || file.keras_version < "3";
  return is_first_scalar && is_kept &&
         file.optimizer_weights.size() == 1 + std::max<std::size_t>(slots, 1) * trained.size();
}

KerasState split(const SavedModel& file, std::size_t slots, const std::vector<Parameter>& trained) {
  const std::vector<SavedWeight>& weights = file.optimizer_weights;
  KerasState state;
  auto rest = weights.begin();
  if (rest != weights.end() && is_scalar(*rest) && rest->values.dtype() == DType::i64) {
    state.iterations = (rest++)->values.to_vector<std::int64_t>().front();
    if (rest != weights.end() && is_scalar(*rest) && !begin_with_weight(file, slots, trained))
      state.learning_rate = (rest++)->values.item();
  }
  state.slots.assign(rest, weights.end());
  return state;
}

/// TensorFlow 2's older Nadam, which keeps another product of momenta and takes other steps.
bool is_older_nadam(const SavedModel& file) {
  return std::any_of(
      file.optimizer_weights.begin(), file.optimizer_weights.end(),
      [](const SavedWeight& weight) { return weight.name.find("momentum_cache") != std::string::npos; });
}

bool fits(const std::vector<Entry>& entries, const std::vector<SavedWeight>& values,
          const std::vector<Parameter>& weights) {
  if (entries.size() != values.size()) return false;
  for (std::size_t i = 0; i < entries.size(); ++i)
    if (values[i].values.shape() != keras_shape(weights[entries[i].weight])) return false;
  return true;
}

/// `named` is Keras' class, in any case, or empty. Its Adam with a weight decay is AdamW here, and keeps the
/// same.
bool has_state_of(const std::string& named, const std::string& optimizer) {
  return named.empty() || lower_case(named) == lower_case(optimizer) ||
         (lower_case(named) == "adam" && optimizer == "AdamW");
}

/// UsageErrors for what that Keras could not go on with.
void require_continuable(const Optimizer& optimizer, KerasOptimizerState state, SavedLayout layout) {
  // Note [Keras 3 and the optimizer of an .h5]: Keras 3.15 builds it for no weights at all before it reads
  // its state, and every later step fails. Without any state in the file it starts a new, working one.
  require<UsageError>(
      state != KerasOptimizerState::keras3 || layout != SavedLayout::h5,
      "[save] Keras 3 can take over an optimizer's state from a .keras file only, not from .h5");
  require<UsageError>(
      state != KerasOptimizerState::tf2 || layout != SavedLayout::h5 || optimizer.name() != "Nadam",
      "[save] TensorFlow 2 takes the Nadam of an .h5 for an older one, which has another state: "
      "save a .keras file");
  require<UsageError>(
      state != KerasOptimizerState::tf2 || layout != SavedLayout::h5 || !optimizer.moving_average(),
      "[save] TensorFlow 2 takes the optimizer of an .h5 for an older one, which keeps no moving average: "
      "save a .keras file");
}

std::optional<SavedOptimizer> read_keras_state(const SavedModel& file, const Optimizer& optimizer,
                                               const Module& module) {
  const std::string class_name = class_name_in(file);
  const std::string plain = class_name.substr(class_name.rfind('>') + 1);
  if (file.optimizer_weights.empty() || is_older_nadam(file) || !has_state_of(plain, optimizer.name()))
    return {};
  const std::vector<OptimizerSlot> slots = optimizer.slots();
  const std::vector<Parameter> weights = trained_weights(module);
  KerasState state = split(file, slots.size(), weights);
  // Keras 3's Nadam has the product of its momenta behind everything else; here it follows from the count.
  if (optimizer.name() == "Nadam" && state.slots.size() % 2 == 1) state.slots.pop_back();
  SavedOptimizer saved{
      optimizer.name(), state.iterations, state.learning_rate.value_or(optimizer.learning_rate()), {}};
  // Without momentum there is nothing else to take over; Keras 2 keeps zeros then.
  if (slots.empty()) return saved;

  const bool is_new = file.layout != SavedLayout::h5 || state.learning_rate || plain != class_name;
  // Where shapes leave it open, the writer decides.
  std::vector<Order> orders{Order::slot_by_slot, Order::pairs};
  if (is_new) std::swap(orders[0], orders[1]);
  for (const Order order : orders) {
    const std::vector<Entry> entries = entries_in(order, optimizer, slots.size(), weights.size());
    if (!fits(entries, state.slots, weights)) continue;
    for (const OptimizerSlot& slot : slots) saved.slots.push_back({keras_name(slot.name), {}});
    for (std::size_t i = 0; i < entries.size(); ++i)
      saved.slots[entries[i].slot].weights.push_back(
          {weights[entries[i].weight].name, state.slots[i].values});
    return saved;
  }
  return {};
}

}  // namespace

std::vector<SavedWeight> save_keras_optimizer(const Optimizer& optimizer,
                                              const std::vector<OptimizerSlot>& slots, const Module& module,
                                              KerasOptimizerState state, SavedLayout layout) {
  if (state == KerasOptimizerState::none) return {};
  require_continuable(optimizer, state, layout);
  const std::vector<Parameter> weights = trained_weights(module);
  SavedOptimizer saved = save_optimizer(optimizer, slots, module);
  leave_out_trained(weights, saved);
  const std::string prefix = optimizer.name() + "/";
  std::vector<SavedWeight> result;
  result.push_back({prefix + "iter:0", Tensor::from<std::int64_t>({}, {optimizer.iterations()})});
  if (state == KerasOptimizerState::keras3 && !has_schedule(optimizer))
    result.push_back({prefix + "learning_rate:0", Tensor::full({}, optimizer.current_learning_rate())});

  // In an .h5 a Keras 2 takes our description for that of a legacy optimizer; AdamW has no such.
  const bool legacy =
      state == KerasOptimizerState::tf2 && layout == SavedLayout::h5 && optimizer.name() != "AdamW";
  const bool keeps_zeros = state == KerasOptimizerState::tf2 && !legacy && optimizer.name() == "SGD";
  const std::size_t averages = optimizer.moving_average() ? 1 : 0;
  if (keeps_zeros && saved.slots.size() == averages) saved.slots.push_back(zeros_for(weights));
  std::vector<std::map<std::string, Tensor>> values;  // of each slot
  for (const SavedSlot& slot : saved.slots) values.push_back(values_by_name(slot));
  const Order order = legacy ? Order::slot_by_slot : Order::pairs;
  for (const Entry& entry : entries_in(order, optimizer, saved.slots.size(), weights.size())) {
    const std::string& weight = weights[entry.weight].name;
    result.push_back(
        {cat(prefix, weight, "/", saved.slots[entry.slot].name, ":0"), values[entry.slot].at(weight)});
  }
  const auto* nadam = dynamic_cast<const Nadam*>(&optimizer);
  if (nadam != nullptr && state == KerasOptimizerState::keras3)
    result.push_back(
        {cat(prefix, "variable:0"), Tensor::full({}, nadam->momentum_product(optimizer.iterations()))});
  return result;
}

std::optional<SavedOptimizer> find_saved_optimizer(const SavedModel& file, const Optimizer& optimizer,
                                                   const Module& module) {
  if (!file.state || !file.state->optimizer) return read_keras_state(file, optimizer, module);
  if (file.state->optimizer->name != optimizer.name()) return {};
  return file.state->optimizer;
}

}  // namespace ronde::inline v0
