/// A look at what a net has learned: its word on the first test images.
#pragma once

#include <cstdint>

#include <ronde/data/dataset.h>
#include <ronde/models/model.h>

namespace ronde::apps {

/// A line each for the first `count` samples on stdout: what the net takes them for, and what they are.
void show_predictions(Model& model, const Dataset& data, std::int64_t count);

}  // namespace ronde::apps
