/// The names that layers get when their user gives none.
#pragma once

#include <string>
#include <vector>

#include <ronde/nn/module.h>

namespace ronde::inline v0 {

/// Keras' name for one more layer beside `siblings`: the class in snake case, with the number of layers of
/// that class so far behind it; the next number when somebody gave that name to another layer.
std::string auto_name(const Module& layer, const std::vector<Module*>& siblings);

}  // namespace ronde::inline v0
