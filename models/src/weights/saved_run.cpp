#include "weights/saved_run.h"

#include <cmath>
#include <limits>

#include <ronde/core/backend.h>

#include "json/json.h"

namespace ronde::inline v0 {

namespace {

constexpr const char* kNonFinite = "non-finite";

ConfigValue pack_number(double value) {
  if (std::isfinite(value)) return value;
  return ConfigDict{{kNonFinite, std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf"}};
}

double unpack_number(const ConfigValue& value) {
  const ConfigValue* word = value.is_dict() ? value.find(kNonFinite) : nullptr;
  if (word == nullptr) return value.as_double();
  if (word->as_string() == "nan") return std::numeric_limits<double>::quiet_NaN();
  return word->as_string() == "inf" ? std::numeric_limits<double>::infinity()
                                    : -std::numeric_limits<double>::infinity();
}

ConfigValue pack_numbers(const std::vector<double>& values) {
  ConfigList list;
  for (const double value : values) list.push_back(pack_number(value));
  return list;
}

std::vector<double> unpack_numbers(const ConfigValue& list) {
  std::vector<double> values;
  for (const ConfigValue& value : list.as_list()) values.push_back(unpack_number(value));
  return values;
}

/// Replaces numbers wherever they are in what a callback remembers.
ConfigValue pack_tree(const ConfigValue& value) {
  if (const auto* number = std::get_if<double>(&value.storage())) return pack_number(*number);
  if (value.is_list()) {
    ConfigList list;
    for (const ConfigValue& item : value.as_list()) list.push_back(pack_tree(item));
    return list;
  }
  if (!value.is_dict()) return value;
  ConfigDict dict;
  for (const auto& [key, item] : value.as_dict()) dict.emplace_back(key, pack_tree(item));
  return dict;
}

ConfigValue unpack_tree(const ConfigValue& value) {
  if (value.is_list()) {
    ConfigList list;
    for (const ConfigValue& item : value.as_list()) list.push_back(unpack_tree(item));
    return list;
  }
  if (!value.is_dict()) return value;
  if (value.find(kNonFinite) != nullptr) return unpack_number(value);
  ConfigDict dict;
  for (const auto& [key, item] : value.as_dict()) dict.emplace_back(key, unpack_tree(item));
  return dict;
}

ConfigValue pack_names(const std::optional<std::vector<std::string>>& names) {
  if (!names) return {};
  return ConfigList(names->begin(), names->end());
}

ConfigValue pack_history(const History& history) {
  ConfigList epochs;
  for (const std::int64_t epoch : history.epochs) epochs.emplace_back(epoch);
  ConfigDict values;
  for (const auto& [name, numbers] : history.values) values.emplace_back(name, pack_numbers(numbers));
  return ConfigDict{{"epochs", epochs}, {"values", values}};
}

History unpack_history(const ConfigValue& packed) {
  History history;
  for (const ConfigValue& epoch : packed.at("epochs").as_list()) history.epochs.push_back(epoch.as_int());
  for (const auto& [name, numbers] : packed.at("values").as_dict())
    history.values.emplace(name, unpack_numbers(numbers));
  return history;
}

ConfigValue pack_callback(const SavedCallback& callback, std::vector<Tensor>& tensors) {
  ConfigList list;
  for (const SavedWeight& tensor : callback.tensors) {
    ConfigList shape;
    for (const std::int64_t extent : tensor.values.shape()) shape.emplace_back(extent);
    list.push_back(ConfigDict{{"name", tensor.name}, {"shape", shape}});
    tensors.push_back(tensor.values);
  }
  return ConfigDict{{"name", callback.name}, {"values", pack_tree(callback.values)}, {"tensors", list}};
}

std::int64_t integer_or_0(const ConfigValue& tree, const char* key) {
  const ConfigValue* value = tree.find(key);
  return value ? value->as_int() : 0;
}

SavedCallback unpack_callback(const ConfigValue& packed) {
  SavedCallback callback;
  callback.name = packed.at("name").as_string();
  callback.values = unpack_tree(packed.at("values")).as_dict();
  for (const ConfigValue& tensor : packed.at("tensors").as_list())
    callback.tensors.push_back({tensor.at("name").as_string(), {}});
  return callback;
}

}  // namespace

PackedRun pack_run(const SavedRun& run) {
  PackedRun packed;
  ConfigList totals, callbacks;
  for (const std::vector<double>& of_rank : run.totals) totals.push_back(pack_numbers(of_rank));
  for (const SavedCallback& callback : run.callbacks)
    callbacks.push_back(pack_callback(callback, packed.tensors));
  ConfigDict tree{{"epoch", run.epoch},
                  {"epoch_step", run.epoch_step},
                  {"stopped", run.stopped},
                  {"first_pass", run.first_pass},
                  {"plan", run.plan},
                  {"arithmetic", run.arithmetic},
                  {"totals", totals},
                  {"metrics", pack_names(run.metrics)},
                  {"history", pack_history(run.history)},
                  {"non_finite", run.non_finite},
                  {"callbacks", callbacks}};
  if (!run.other_weights_by.empty()) tree.emplace_back("other_weights_by", run.other_weights_by);
  packed.tree = std::move(tree);
  return packed;
}

SavedRun unpack_run(const ConfigValue& tree) {
  SavedRun run;
  run.epoch = tree.at("epoch").as_int();
  run.epoch_step = tree.at("epoch_step").as_int();
  run.stopped = tree.at("stopped").as_bool();
  run.plan = tree.at("plan").as_dict();
  run.arithmetic = tree.at("arithmetic").as_dict();
  for (const ConfigValue& of_rank : tree.at("totals").as_list())
    run.totals.push_back(unpack_numbers(of_rank));
  run.history = unpack_history(tree.at("history"));
  // Files of Ronde 0.1 have none of these.
  if (const ConfigValue* metrics = tree.find("metrics"); metrics && metrics->is_list()) {
    run.metrics.emplace();
    for (const ConfigValue& name : metrics->as_list()) run.metrics->push_back(name.as_string());
  }
  run.non_finite = integer_or_0(tree, "non_finite");
  run.first_pass = integer_or_0(tree, "first_pass");
  if (const ConfigValue* name = tree.find("other_weights_by")) run.other_weights_by = name->as_string();
  for (const ConfigValue& callback : tree.at("callbacks").as_list())
    run.callbacks.push_back(unpack_callback(callback));
  require<InputError>(run.epoch >= 0 && run.epoch_step >= 0 && run.first_pass >= 0,
                      "the run began with pass ", run.first_pass, " and stopped at epoch ", run.epoch,
                      ", step ", run.epoch_step);
  return run;
}

std::vector<SavedWeight*> tensors_of(SavedRun& run) {
  std::vector<SavedWeight*> tensors;
  for (SavedCallback& callback : run.callbacks)
    for (SavedWeight& tensor : callback.tensors) tensors.push_back(&tensor);
  return tensors;
}

namespace {

/// Shape and dtype travel ahead of the elements.
void broadcast_tensor(Communicator& communicator, Tensor& tensor) {
  ConfigList shape;
  if (tensor.defined()) {
    shape.emplace_back(tensor.dtype() == DType::f64);
    for (const std::int64_t extent : tensor.shape()) shape.emplace_back(extent);
  }
  const ConfigList header = from_json(broadcast_string(communicator, to_json(shape))).as_list();
  if (communicator.rank() != 0) {
    Shape extents;
    for (std::size_t i = 1; i < header.size(); ++i) extents.push_back(header[i].as_int());
    const DType dtype = header.at(0).as_bool() ? DType::f64 : DType::f32;
    tensor = Tensor::empty(extents, {.dtype = dtype, .backend = &backend("cpu")});
  }
  if (tensor.count() > 0) communicator.broadcast(tensor).wait();
}

}  // namespace

void broadcast_run(Communicator& communicator, std::optional<SavedRun>& run) {
  if (communicator.size() == 1) return;
  std::string text;
  if (run) text = to_json(pack_run(*run).tree);
  text = broadcast_string(communicator, text);
  if (text.empty()) {
    run.reset();
    return;
  }
  if (communicator.rank() != 0) run = unpack_run(from_json(text));
  for (SavedWeight* tensor : tensors_of(*run)) broadcast_tensor(communicator, tensor->values);
}

}  // namespace ronde::inline v0
