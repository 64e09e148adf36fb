/// The documented ways of training on MNIST.
#pragma once

#include "common/recipe.h"

namespace ronde::apps {

RecipeNames mnist_recipe_names();
/// One of the available ones.
Recipe mnist_recipe(const std::string& name);

}  // namespace ronde::apps
