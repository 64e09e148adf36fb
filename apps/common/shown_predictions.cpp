#include "common/shown_predictions.h"

#include <cstdio>

#include <ronde/models/predict_samples.h>

namespace ronde::apps {

void show_predictions(Model& model, const Dataset& data, std::int64_t count) {
  const std::vector<std::string> names = data.class_names();
  const auto name_of = [&](std::int64_t label) {
    const auto i = static_cast<std::size_t>(label);
    return i < names.size() ? names[i] : std::to_string(label);
  };
  predict_samples(model, data, {.count = count}, [&](const Prediction& prediction) {
    std::printf("Test image %lld: predicted %s with probability %.4f, is %s\n",
                static_cast<long long>(prediction.sample), name_of(prediction.best()).c_str(),
                static_cast<double>(prediction.outputs[static_cast<std::size_t>(prediction.best())]),
                name_of(prediction.label).c_str());
  });
}

}  // namespace ronde::apps
