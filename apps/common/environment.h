/// The variables of the environment that begin with RONDE_: options of the programs, and the library's own.
#pragma once

#include <string>
#include <vector>

namespace ronde::apps {

/// "epochs" -> "RONDE_EPOCHS"
std::string environment_name(const std::string& option);

/// Names of all such variables that are set, in order.
std::vector<std::string> variables_set();

/// A line for each RONDE_... that is set and neither an option nor known to the library: "RONDE_EPOCH is set,
/// but nothing reads it: did you mean RONDE_EPOCHS?"
std::vector<std::string> unread_variables(const std::vector<std::string>& options);

}  // namespace ronde::apps
