/// The documented ways of training on CIFAR-10.
#pragma once

#include <string>
#include <vector>

#include "common/recipe.h"

namespace ronde::apps {

std::vector<std::string> cifar10_recipe_names();
/// One of the available ones.
Recipe cifar10_recipe(const std::string& name);

}  // namespace ronde::apps
