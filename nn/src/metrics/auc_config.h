/// Options of AUC by Keras' keys.
#pragma once

#include <ronde/nn/auc.h>

namespace ronde::inline v0 {

/// An InputError for a value that Keras does not know, and for weights of the labels. Their number is the
/// outputs'.
AucOptions auc_options(const ConfigValue& options);

ConfigDict auc_config(const AucOptions& options);

}  // namespace ronde::inline v0
