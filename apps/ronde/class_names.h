/// Names of classes as they are given on the command line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ronde::apps {

/// `wanted` is mnist, fashion-mnist, cifar10, names with commas between them, or a file with a name in each
/// line; empty: "class 0", "class 1" ..., with `what` for "class". UsageError when there are not as many as
/// `outputs`.
std::vector<std::string> class_names(const std::string& wanted, std::int64_t outputs,
                                     const char* what = "class");

}  // namespace ronde::apps
