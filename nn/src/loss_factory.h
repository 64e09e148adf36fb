/// Internal to nn: the names that `make_loss` knows.
#pragma once

#include <string>

namespace ronde::inline v0 {

bool is_loss_name(const std::string& name);

}  // namespace ronde::inline v0
