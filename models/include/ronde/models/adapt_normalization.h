/// What a Normalization needs to know of data: Keras' `layer.adapt(data)`.
///
///     Sequential net(Normalization(adapt_normalization(train)), Dense({.units = 1}));
#pragma once

#include <ronde/data/dataset.h>
#include <ronde/nn/normalization.h>

namespace ronde::inline v0 {

/// Mean and (biased) variance of each channel, the last axis, over all samples, in f64; reads each of them
/// once. A UsageError for a data set without samples.
RONDE_API NormalizationOptions adapt_normalization(const Dataset& data);

}  // namespace ronde::inline v0
