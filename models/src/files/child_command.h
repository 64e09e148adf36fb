/// A command that runs beside the training and must not harm it.
#pragma once

#include <atomic>
#include <string>
#include <vector>

namespace ronde::inline v0 {

/// Runs it to its end, at most `timeout` seconds or until `give_up`, when its process group is killed. It has
/// no input, none of this process's files, its own process group, and default signals. Returns "" for exit
/// status 0, else what went wrong, with the last line that it wrote to stderr.
std::string run_command(const std::vector<std::string>& words, double timeout,
                        const std::atomic<bool>& give_up);

}  // namespace ronde::inline v0
