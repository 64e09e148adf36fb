#pragma once

#include <string>

namespace ronde::inline v0 {

/// As Python's repr: the shortest digits that read back the same, "0.1", "1.0", "0.0001", "1e-05", "1e+16",
/// "nan", "inf".
std::string python_number(double value);

}  // namespace ronde::inline v0
