#include "nets/graph_operation.h"

#include <ronde/nn/embedding.h>
#include <ronde/nn/masking.h>
#include <ronde/nn/rescaling.h>

namespace ronde::inline v0 {

namespace {

bool is_number(const ConfigValue& value) {
  return std::holds_alternative<double>(value.storage()) ||
         std::holds_alternative<std::int64_t>(value.storage());
}

/// number / x is no Rescaling.
bool divides_by_second(const std::string& class_name) {
  return class_name == "TrueDivide" || class_name == "Divide";
}

}  // namespace

bool is_operation(const std::string& class_name) {
  return divides_by_second(class_name) || class_name == "Negative" || is_mask_operation(class_name);
}

bool is_mask_operation(const std::string& class_name) {
  return class_name == "NotEqual" || class_name == "Any" || class_name == "LogicalOr" ||
         class_name == "ConvertToTensor";
}

std::optional<double> masked_value(const Module& layer) {
  if (const auto* masking = dynamic_cast<const Masking*>(&layer)) return masking->mask_value();
  const auto* embedding = dynamic_cast<const Embedding*>(&layer);
  return embedding && embedding->options().mask_zero ? std::optional(0.0) : std::nullopt;
}

std::optional<double> number_among(const ConfigValue& arguments) {
  for (const ConfigValue& argument : arguments.as_list())
    if (is_number(argument)) return argument.as_double();
  return std::nullopt;
}

std::unique_ptr<Module> as_rescaling(const std::string& class_name, const ConfigValue& arguments) {
  const ConfigList& values = arguments.as_list();
  if (class_name == "Negative" && values.size() == 1)
    return std::make_unique<Rescaling>(RescalingOptions{.scale = {-1.0}});
  if (values.size() != 2 || is_number(values[0]) == is_number(values[1])) return nullptr;
  const bool comes_first = is_number(values[0]);
  const double number = values[comes_first ? 0 : 1].as_double();
  RescalingOptions options;
  if (class_name == "Add") {
    options.offset = {number};
  } else if (class_name == "Multiply") {
    options.scale = {number};
  } else if (class_name == "Subtract") {
    options.scale = {comes_first ? -1.0 : 1.0};
    options.offset = {comes_first ? number : -number};
  } else if (divides_by_second(class_name) && !comes_first) {
    options.scale = {1.0 / number};
  } else {
    return nullptr;
  }
  return std::make_unique<Rescaling>(std::move(options));
}

}  // namespace ronde::inline v0
