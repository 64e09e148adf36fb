#include "rigs/checkpoints/content.h"

#include <cmath>
#include <vector>

#include <ronde/models/latest_checkpoint.h>

namespace ronde::rigs {
namespace {

Tensor numbers(const Shape& shape, std::int64_t step, double phase) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < shape.count(); ++i)
    values.push_back(static_cast<float>(std::sin(phase + 0.1 * static_cast<double>(i + 7 * step))));
  return Tensor::from<float>(shape, values);
}

std::vector<SavedWeight> weights(std::int64_t step, double phase, const std::string& suffix) {
  return {{"dense/kernel" + suffix, numbers({12, 8}, step, phase)},
          {"dense/bias" + suffix, numbers({8}, step, phase + 1.0)}};
}

}  // namespace

SavedModel content_of(std::int64_t step) {
  SavedModel model;
  model.keras_version = "2.15.0";
  model.layers = {{"dense", weights(step, 0.0, ":0")}};
  model.state.emplace();
  model.state->steps = step;
  model.state->epochs = step / 10;
  model.state->optimizer =
      SavedOptimizer{.name = "Adam",
                     .iterations = step,
                     .learning_rate = 0.001,
                     .slots = {{"momentum", weights(step, 2.0, "")}, {"velocity", weights(step, 3.0, "")}}};
  model.state->run = SavedRun{.epoch = step / 10, .epoch_step = step % 10};
  return model;
}

std::string file_of(const std::string& directory, std::int64_t step) {
  return cat(directory, "/checkpoint-", step, ".h5");
}

Found find(const std::string& directory) {
  Found found;
  const LatestCheckpoint latest = latest_checkpoint(directory);
  for (const std::string& line : latest.skipped) found.damaged += line + "\n";
  if (latest.path.empty()) return found;
  found.step = latest.steps;
  found.is_right =
      encode_saved_model(read_saved_model(latest.path)) == encode_saved_model(content_of(latest.steps));
  return found;
}

}  // namespace ronde::rigs
