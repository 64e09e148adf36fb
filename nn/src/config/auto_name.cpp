#include "config/auto_name.h"

#include "config/snake_case.h"

namespace ronde::inline v0 {

std::string auto_name(const Module& layer, const std::vector<Module*>& siblings) {
  const std::string base = snake_case(layer.class_name());
  const auto is_taken = [&](const std::string& name) {
    for (const Module* sibling : siblings)
      if (sibling->name() == name) return true;
    return false;
  };
  int number = 0;
  for (const Module* sibling : siblings) number += sibling->class_name() == layer.class_name() ? 1 : 0;
  std::string name = number == 0 ? base : cat(base, '_', number);
  while (is_taken(name)) name = cat(base, '_', ++number);
  return name;
}

}  // namespace ronde::inline v0
