#include "module/layer_config.h"

#include <algorithm>

#include <ronde/nn/keras_origin.h>

#include "config/config_options.h"
#include "config/snake_case.h"

namespace ronde::inline v0 {

ConfigDict layer_config(const Module& layer) {
  ConfigDict config{{"name", layer.name().empty() ? snake_case(layer.class_name()) : layer.name()},
                    {"trainable", layer.trainable()},
                    {"dtype", "float32"}};
  append_left_out(layer, config);
  return config;
}

void append_left_out(const Module& layer, ConfigDict& config) {
  config.insert(config.end(), layer.left_out().begin(), layer.left_out().end());
}

ConfigDict input_layer(const std::string& name, const Shape* shape) {
  ConfigDict config;
  if (shape != nullptr) {
    ConfigList extents{ConfigValue()};
    for (const std::int64_t extent : *shape) extents.emplace_back(extent);
    config.emplace_back("batch_input_shape", extents);
  }
  config.emplace_back("dtype", "float32");
  config.emplace_back("sparse", false);
  config.emplace_back("name", name);
  return {{"class_name", "InputLayer"}, {"config", config}};
}

ConfigList pair(Size2d size) {
  return {size.h, size.w};
}

ConfigList margins_list(Margins2d margins) {
  return {ConfigList{margins.top, margins.bottom}, ConfigList{margins.left, margins.right}};
}

std::string to_string(Padding padding) {
  return padding == Padding::same ? "same" : "valid";
}

void append_regularizer(const char* key, const Regularizer& regularizer, ConfigDict& config) {
  if (!regularizer.is_none()) config.emplace_back(key, regularizer.config());
}

ConfigValue to_config(const std::vector<double>& numbers) {
  if (numbers.empty()) return {};
  if (numbers.size() == 1) return numbers.front();
  return ConfigList(numbers.begin(), numbers.end());
}

std::string without_slashes(std::string name) {
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

LayerConfig::LayerConfig(std::string class_name, const ConfigValue& config)
    : config_(&config), class_name_(std::move(class_name)), label_(class_name_) {
  // Of every layer: its name and policy, and what Keras notes of its input.
  ignore({"name", "trainable", "dtype", "batch_input_shape", "build_config", "build_input_shape", "dynamic",
          "input_dtype", "ragged", "sparse"});
  require<InputError>(config.is_dict(), "[", label_, "] config is not a dict");
  const ConfigValue* name = config.find("name");
  if (name != nullptr && name->is_string()) label_ += cat(" \"", name->as_string(), "\"");
}

const ConfigValue* LayerConfig::find(const char* key) const {
  asked_.insert(key);
  return find_option(*config_, key);
}

bool LayerConfig::is_null(const char* key) const {
  const ConfigValue* value = config_->find(key);
  return value != nullptr && value->is_null();
}

void LayerConfig::ignore(std::initializer_list<const char*> keys) const {
  asked_.insert(keys.begin(), keys.end());
}

ConfigDict LayerConfig::own_options() const {
  ConfigDict own;
  for (const auto& entry : config_->as_dict())
    if (asked_.insert(entry.first).second) own.push_back(entry);
  return own;
}

ConfigDict LayerConfig::unread() const {
  ConfigDict entries;
  for (const auto& [key, value] : config_->as_dict())
    if (!value.is_null() && !asked_.contains(key)) entries.emplace_back(key, with_own_names(value));
  return entries;
}

void LayerConfig::refuse(const char* key, const std::string& why) const {
  throw InputError(cat("[", label_, "] ", key, ": ", why));
}

/// convert(entry) with layer and key put before its errors; the entry must be there.
template <class F>
auto LayerConfig::read(const char* key, F&& convert) const {
  const ConfigValue* value = find(key);
  if (value == nullptr) refuse(key, "missing");
  try {
    return convert(*value);
  } catch (const Error& error) {
    refuse(key, error.what());
  }
}

std::int64_t LayerConfig::integer(const char* key) const {
  return read(key, [](const ConfigValue& value) { return value.as_int(); });
}
std::int64_t LayerConfig::integer(const char* key, std::int64_t otherwise) const {
  return find(key) != nullptr ? integer(key) : otherwise;
}
std::vector<std::int64_t> LayerConfig::integers(const char* key) const {
  return read(key, [](const ConfigValue& value) {
    if (!value.is_list()) return std::vector{value.as_int()};
    std::vector<std::int64_t> integers;
    for (const ConfigValue& one : value.as_list()) integers.push_back(one.as_int());
    return integers;
  });
}
Shape LayerConfig::shape(const char* key, std::size_t most) const {
  const std::vector<std::int64_t> extents = integers(key);
  if (extents.size() > most)
    refuse(key, cat("at most ", most, " extents are supported, found ", extents.size()));
  return Shape(extents);
}
double LayerConfig::number(const char* key) const {
  return read(key, [](const ConfigValue& value) { return value.as_double(); });
}
double LayerConfig::number(const char* key, double otherwise) const {
  return find(key) != nullptr ? number(key) : otherwise;
}
std::vector<double> LayerConfig::numbers(const char* key) const {
  if (find(key) == nullptr) return {};
  return read(key, [](const ConfigValue& value) {
    if (!value.is_list()) return std::vector{value.as_double()};
    std::vector<double> numbers;
    for (const ConfigValue& one : value.as_list()) numbers.push_back(one.as_double());
    return numbers;
  });
}
bool LayerConfig::boolean(const char* key, bool otherwise) const {
  return find(key) != nullptr ? read(key, [](const ConfigValue& v) { return v.as_bool(); }) : otherwise;
}
std::string LayerConfig::text(const char* key, const std::string& otherwise) const {
  return find(key) != nullptr ? read(key, [](const ConfigValue& v) { return v.as_string(); }) : otherwise;
}

namespace {

/// 2 or [1, 2]
Size2d read_pair(const ConfigValue& value, const char* what) {
  if (!value.is_list()) return {value.as_int(), value.as_int()};
  const ConfigList& list = value.as_list();
  require<InputError>(list.size() == 2, "expected two ", what, ", found ", list.size());
  return {list[0].as_int(), list[1].as_int()};
}

}  // namespace

std::optional<std::int64_t> LayerConfig::extent(const char* key) const {
  if (find(key) == nullptr) return std::nullopt;
  const std::vector<std::int64_t> extents = integers(key);
  if (extents.size() != 1) refuse(key, cat("expected one integer, found ", extents.size()));
  return extents.front();
}
std::int64_t LayerConfig::extent(const char* key, std::int64_t otherwise) const {
  return extent(key).value_or(otherwise);
}

std::optional<Size2d> LayerConfig::size(const char* key) const {
  if (find(key) == nullptr) return std::nullopt;
  return read(key, [](const ConfigValue& value) { return read_pair(value, "integers"); });
}
Size2d LayerConfig::size(const char* key, Size2d otherwise) const {
  return size(key).value_or(otherwise);
}

Margins2d LayerConfig::margins(const char* key, Margins2d otherwise) const {
  if (find(key) == nullptr) return otherwise;
  return read(key, [](const ConfigValue& value) {
    const bool is_list = value.is_list();
    require<InputError>(!is_list || value.as_list().size() == 2, "expected two entries, found ",
                        is_list ? value.as_list().size() : 1);
    const Size2d rows = read_pair(is_list ? value.as_list()[0] : value, "entries");
    const Size2d columns = read_pair(is_list ? value.as_list()[1] : value, "entries");
    return Margins2d{rows.h, rows.w, columns.h, columns.w};
  });
}

Padding LayerConfig::padding() const {
  const std::string name = text("padding", "valid");
  if (name != "valid" && name != "same") refuse("padding", cat("\"", name, "\" is not supported"));
  return name == "same" ? Padding::same : Padding::valid;
}

std::int64_t LayerConfig::axis() const {
  if (find("axis") == nullptr) return -1;
  const std::vector<std::int64_t> axes = integers("axis");
  if (axes.size() != 1) refuse("axis", cat("expected one axis, found ", axes.size()));
  return axes.front();
}

Activation::Kind LayerConfig::activation(const char* key, Activation::Kind otherwise) const {
  const ConfigValue* value = find(key);
  if (value == nullptr) return is_null(key) ? Activation::linear : otherwise;
  // Keras 3 may write a function as {"class_name": "function", "config": "relu"}.
  const bool is_wrapped =
      value->is_dict() && value->find("config") != nullptr && value->find("config")->is_string();
  const ConfigValue& name = is_wrapped ? value->at("config") : *value;
  if (!name.is_string()) refuse(key, "only activations with a name are supported");
  if (name.as_string() == "silu") return Activation::silu;
  if (name.as_string() == "hard_swish") return Activation::hard_silu;
  for (int kind = 0; kind <= static_cast<int>(Activation::kLastKind); ++kind)
    if (name.as_string() == to_string(static_cast<Activation::Kind>(kind)))
      return static_cast<Activation::Kind>(kind);
  refuse(key, cat("\"", name.as_string(), "\" is not supported"));
}

Initializer LayerConfig::initializer(const char* key, Initializer otherwise) const {
  if (find(key) == nullptr) return otherwise;
  try {
    return Initializer::from_config(*find(key));
  } catch (const InputError&) {
    return otherwise;
  }
}

Regularizer LayerConfig::regularizer(const char* key) const {
  if (find(key) == nullptr) return {};
  try {
    return Regularizer::from_config(*find(key));
  } catch (const InputError&) {
    asked_.erase(key);
    return {};
  }
}

void LayerConfig::expect_null(const char* key) const {
  if (find(key) != nullptr) refuse(key, "is not supported");
}

void LayerConfig::expect_no_adapters() const {
  for (const char* key : {"lora_rank", "lora_alpha", "quantization_config"}) expect_null(key);
}

void LayerConfig::expect_text(const char* key, const char* value) const {
  const std::string found = text(key, value);
  if (found != value) refuse(key, cat("\"", found, "\" is not supported, only \"", value, "\""));
}

void LayerConfig::expect_false(const char* key) const {
  if (boolean(key, false)) refuse(key, "true is not supported");
}

}  // namespace ronde::inline v0
