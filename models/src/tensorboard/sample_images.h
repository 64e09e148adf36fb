#pragma once

#include <cstdint>
#include <vector>

#include <ronde/data/dataset.h>

namespace ronde::inline v0 {

/// The first `count` samples of a data set of images as u8 (h, w, c) pictures. Values in [0, 1] or [0, 255]
/// keep their brightness; others are stretched from the smallest to the largest. UsageError when samples are
/// not (h, w, 1) or (h, w, 3).
std::vector<Tensor> sample_images(const Dataset& data, std::int64_t count);

}  // namespace ronde::inline v0
