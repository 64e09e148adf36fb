/// Where the program that `ronde run` starts is.
#pragma once

#include <string>

namespace ronde::apps {

/// What the shell would not find may lie beside this program, as the trainers do. Empty: there is none on
/// this machine.
std::string path_of_program(const std::string& name);
/// Whether the shell would find it here: by its path, or in $PATH.
bool can_run(const std::string& name);
/// Why the system cannot execute a file that may be executed: "Exec format error", say. Empty: it can, or
/// cannot be asked, as of a name without a path. Nothing of the program runs.
std::string obstacle_to_running(const std::string& path);

}  // namespace ronde::apps
