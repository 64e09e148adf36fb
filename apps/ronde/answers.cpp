#include "ronde/answers.h"

#include <algorithm>
#include <cmath>
#include <string>

#include <ronde/core/ops.h>

#include "report/probabilities.h"

namespace ronde::apps {
namespace {

/// What the net says to zeros, which remembers the activation that it came from.
Variable outputs_of_zeros(Model& model) {
  const Module& net = model.module();
  const NoGrad no_grad;
  return model.module()(Tensor::zeros(net.input_shape().batch_of(1), model.arena().values().options()));
}

Reading reading_of(const Loss& loss) {
  const std::string name = loss.name();
  const ConfigDict config = loss.config();
  const bool logits = std::any_of(config.begin(), config.end(), [](const auto& entry) {
    return entry.first == "from_logits" && entry.second.as_bool();
  });
  if (name == "binary_crossentropy") return {.meaning = Meaning::independent, .logits = logits};
  const bool classes = name.ends_with("categorical_crossentropy") || name == "kl_divergence";
  return {.meaning = classes ? Meaning::classes : Meaning::values};
}

}  // namespace

Reading reading_of(Model& model) {
  const Variable outputs = outputs_of_zeros(model);
  if (softmax_input(outputs).defined()) return {.meaning = Meaning::classes};
  if (sigmoid_input(outputs).defined()) return {.meaning = Meaning::independent};
  return model.has_loss() ? reading_of(model.loss()) : Reading();
}

std::vector<double> answers(const Reading& reading, std::span<const double> outputs) {
  std::vector<double> values(outputs.begin(), outputs.end());
  const bool finite = std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
  if (!finite || reading.meaning == Meaning::values) return values;
  if (reading.meaning == Meaning::classes) return probabilities(outputs);
  if (reading.logits)
    for (double& value : values) value = 1.0 / (1.0 + std::exp(-value));
  return values;
}

}  // namespace ronde::apps
