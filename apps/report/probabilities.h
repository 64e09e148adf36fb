/// What a classifier says, as probabilities.
#pragma once

#include <span>
#include <vector>

namespace ronde::apps {

/// Of the outputs for one sample: as they are when they are probabilities already, else their softmax.
std::vector<double> probabilities(std::span<const double> outputs);

}  // namespace ronde::apps
