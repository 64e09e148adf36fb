/// Which algorithm 3x3 convolutions may use.
#pragma once

namespace ronde::inline v0 {

enum class ConvAlgorithm { winograd, direct };

/// `$RONDE_CONV` (winograd, direct) if set, else winograd. A UsageError for any other value.
ConvAlgorithm chosen_conv_algorithm();

}  // namespace ronde::inline v0
