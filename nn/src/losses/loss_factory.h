/// Internal to nn: the names that `make_loss` knows.
#pragma once

#include <string>
#include <vector>

namespace ronde::inline v0 {

enum class Aliases { with, without };

/// The function's name of each loss, or all its names.
std::vector<std::string> loss_names(Aliases aliases);
bool is_loss_name(const std::string& name);

}  // namespace ronde::inline v0
