/// Options of the F scores by Keras' keys.
#pragma once

#include <ronde/nn/fbeta_score.h>

namespace ronde::inline v0 {

/// An InputError for an average that Keras does not know.
FBetaOptions fbeta_options(const std::string& metric, const ConfigValue& options);
ConfigDict fbeta_config(const FBetaOptions& options);

}  // namespace ronde::inline v0
