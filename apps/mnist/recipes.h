/// The documented ways of training on MNIST.
#pragma once

#include <string>
#include <vector>

#include "common/recipe.h"

namespace ronde::apps {

std::vector<std::string> mnist_recipe_names();
/// One of the available ones.
Recipe mnist_recipe(const std::string& name);

}  // namespace ronde::apps
