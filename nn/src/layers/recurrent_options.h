/// Options of LSTM, GRU and SimpleRNN out of a config.
#pragma once

#include <ronde/nn/recurrent.h>

#include "module/layer_config.h"

namespace ronde::inline v0 {

/// Errors for what is not supported.
RecurrentOptions read_recurrent_options(const LayerConfig& config);

}  // namespace ronde::inline v0
