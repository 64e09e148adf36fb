/// Names of groups and attributes in a model file.
#pragma once

#include <cstdint>

namespace ronde::inline v0::layout {

inline constexpr const char* kWeights = "model_weights";
inline constexpr const char* kLayerNames = "layer_names";
inline constexpr const char* kWeightNames = "weight_names";
inline constexpr const char* kBackend = "backend";
inline constexpr const char* kKerasVersion = "keras_version";
inline constexpr const char* kModelConfig = "model_config";
inline constexpr const char* kTrainingConfig = "training_config";
inline constexpr const char* kOptimizerWeights = "optimizer_weights";
inline constexpr const char* kOptimizerVars = "optimizer/vars";  // of a .weights.h5

inline constexpr const char* kState = "ronde";
inline constexpr const char* kOptimizer = "optimizer";
inline constexpr const char* kOptimizerSettings = "optimizer_settings";
inline constexpr const char* kRun = "run";
inline constexpr std::int64_t kFormatVersion = 1;

}  // namespace ronde::inline v0::layout
