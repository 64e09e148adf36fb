/// The options that say how ranks train together: what travels, how often, and where the optimizer's state
/// is.
#pragma once

#include <ronde/distributed/distributed_options.h>

#include "common/command_line.h"

namespace ronde::apps {

void declare_exchange_options(CommandLine& line, DistributedOptions& options);

/// "none", "bf16", "fp16", "top-k[:RATIO]" or "power-sgd[:RANK[:START]]".
Setter compression_choice(Compression& target);
/// "PERIOD[:START]"
Setter local_steps_choice(LocalSteps& target);

}  // namespace ronde::apps
