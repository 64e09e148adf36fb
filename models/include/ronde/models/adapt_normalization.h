/// What a Normalization needs to know of data: Keras' `layer.adapt(data)`.
///
///     Sequential net(Normalization(adapt_normalization(train)), Dense({.units = 1}));
#pragma once

#include <optional>

#include <ronde/data/dataset.h>
#include <ronde/nn/normalization.h>

namespace ronde::inline v0 {

/// Mean and (biased) variance of each channel, the last axis, over all samples, in f64; or, for a layer
/// without an axis, those of all elements. Reads each sample once. A UsageError for a data set without
/// samples, and for any other axis.
RONDE_API NormalizationOptions adapt_normalization(const Dataset& data,
                                                   std::optional<std::int64_t> axis = -1);

}  // namespace ronde::inline v0
