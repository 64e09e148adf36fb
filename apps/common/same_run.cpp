#include "common/same_run.h"

#include <algorithm>
#include <vector>

#include <ronde/core/backend.h>
#include <ronde/core/error.h>
#include <ronde/core/sha256.h>

namespace ronde::apps {
namespace {

template <class T>
void require_same(const char* what, const T& before, const T& now) {
  require<UsageError>(before == now, "cannot resume: the run to go on with has ", what, " ", before,
                      ", this one has ", now, ": give the same, or begin a new run in another --dir");
}

constexpr std::int64_t kLooks = 256;  // of all others nothing is known

// Of samples all over the data, whatever form it has on disk: pictures as bytes, and their labels.
std::string identity_of(const Dataset& data) {
  const std::int64_t looks = std::min(kLooks, data.size());
  std::vector<std::int64_t> samples(static_cast<std::size_t>(looks));
  for (std::int64_t i = 0; i < looks; ++i)
    samples[static_cast<std::size_t>(i)] = looks == 1 ? 0 : i * (data.size() - 1) / (looks - 1);
  Backend& cpu = backend("cpu");
  const Tensor inputs =
      Tensor::empty(data.input_shape().batch_of(looks), {.dtype = DType::f32, .backend = &cpu});
  const Tensor targets =
      Tensor::empty(data.target_shape().batch_of(looks), {.dtype = data.target_dtype(), .backend = &cpu});
  data.read(samples, inputs, targets);
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(inputs.count()));
  std::transform(inputs.data<float>(), inputs.data<float>() + inputs.count(), bytes.begin(), [](float value) {
    return static_cast<std::uint8_t>(std::clamp(255.0f * value + 0.5f, 0.0f, 255.0f));
  });
  Sha256 hash;
  hash.update(bytes.data(), bytes.size());
  const std::vector<std::int64_t> labels = targets.to_vector<std::int64_t>();
  hash.update(labels.data(), labels.size() * sizeof(std::int64_t));
  return hash.hex().substr(0, 16);
}

}  // namespace

SameRun::SameRun(const TrainOptions& options, const TrainPlan& plan, const Dataset& train)
    : rate_(plan.learning_rate), warmup_epochs_(options.warmup_epochs), data_(identity_of(train)) {}

CallbackState SameRun::state() const {
  return {{{"learning_rate", rate_}, {"warmup_epochs", warmup_epochs_}, {"data", data_}}, {}};
}

void SameRun::require_same_run(const CallbackState& state) const {
  const ConfigValue values(state.values);
  require_same("learning rate", values.at("learning_rate").as_double(), rate_);
  require_same("warmup epochs", values.at("warmup_epochs").as_int(), warmup_epochs_);
  if (const ConfigValue* data = values.find("data"))  // files of earlier versions have none
    require_same("training data with hash", data->as_string(), data_);
}

}  // namespace ronde::apps
