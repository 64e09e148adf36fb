#include "graph_operation.h"

#include <ronde/nn/rescaling.h>

namespace ronde::inline v0 {

namespace {

bool is_number(const ConfigValue& value) {
  return std::holds_alternative<double>(value.storage()) ||
         std::holds_alternative<std::int64_t>(value.storage());
}

}  // namespace

std::unique_ptr<Module> as_rescaling(const Module& operation, const ConfigValue& arguments) {
  const ConfigList& values = arguments.as_list();
  if (values.size() != 2 || is_number(values[0]) == is_number(values[1])) return nullptr;
  const bool comes_first = is_number(values[0]);
  const double number = values[comes_first ? 0 : 1].as_double();
  const std::string name = operation.class_name();
  RescalingOptions options{.name = operation.name()};
  if (name == "Add") {
    options.offset = {number};
  } else if (name == "Multiply") {
    options.scale = {number};
  } else if (name == "Subtract") {
    options.scale = {comes_first ? -1.0 : 1.0};
    options.offset = {comes_first ? number : -number};
  } else {
    return nullptr;
  }
  return std::make_unique<Rescaling>(std::move(options));
}

}  // namespace ronde::inline v0
