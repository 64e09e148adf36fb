/// History: the logs of the epochs of a training, as Keras' object of that name holds them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ronde::inline v0 {

/// One entry per epoch; those of a validation are of the epochs that made one (FitOptions::validation_freq),
/// as in Keras. A resumed training goes on with the history it had.
struct History {
  std::vector<std::int64_t> epochs;  ///< 0-based, as Keras
  std::map<std::string, std::vector<double>> values;
};

}  // namespace ronde::inline v0
