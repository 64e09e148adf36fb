/// predict_samples: what a net says to the samples of a data set, one after the other, in any amount of data.
///
///     predict_samples(model, cifar.test, {.count = 20}, [&](const Prediction& p) {
///       if (p.best() != p.label) mistakes.push_back(p.sample);
///     });
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <ronde/models/model.h>

namespace ronde::inline v0 {

struct RONDE_API Prediction {
  std::int64_t sample = 0;     ///< index in the data set
  std::int64_t label = -1;     ///< its class; -1 when the targets are no class labels
  std::vector<float> outputs;  ///< of the net, flattened

  /// The class with the largest output.
  std::int64_t best() const;
};

struct PredictOptions {
  std::int64_t first = 0;
  std::int64_t count = 0;  ///< 0: all from `first` on; no more than there are
  std::int64_t batch_size = 128;
};

/// On this rank alone; `use` is called in the order of the samples.
RONDE_API void predict_samples(Model& model, const Dataset& data, const PredictOptions& options,
                               const std::function<void(const Prediction&)>& use);

}  // namespace ronde::inline v0
