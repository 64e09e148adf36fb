#include <ronde/models/predict_samples.h>

#include <algorithm>
#include <numeric>

namespace ronde::inline v0 {

namespace {

struct ReadBatch {
  Tensor inputs;
  std::vector<std::int64_t> labels;  // empty when targets are no class labels
};

ReadBatch read(const Dataset& data, std::span<const std::int64_t> samples) {
  const auto count = static_cast<std::int64_t>(samples.size());
  const Tensor inputs = Tensor::empty(data.input_shape().batch_of(count));
  const Tensor targets = Tensor::empty(data.target_shape().batch_of(count), {.dtype = data.target_dtype()});
  data.read(samples, inputs, targets);
  if (data.target_dtype() != DType::i32 || data.target_shape().rank() != 0) return {inputs, {}};
  const std::vector<std::int32_t> labels = targets.to_vector<std::int32_t>();
  return {inputs, {labels.begin(), labels.end()}};
}

}  // namespace

std::int64_t Prediction::best() const {
  return std::max_element(outputs.begin(), outputs.end()) - outputs.begin();
}

void predict_samples(Model& model, const Dataset& data, const PredictOptions& options,
                     const std::function<void(const Prediction&)>& use) {
  require<UsageError>(options.first >= 0 && options.count >= 0 && options.batch_size >= 1,
                      "[predict_samples] first ", options.first, ", count ", options.count, ", batch_size ",
                      options.batch_size);
  const std::int64_t end =
      options.count > 0 ? std::min(data.size(), options.first + options.count) : data.size();
  for (std::int64_t begin = options.first; begin < end; begin += options.batch_size) {
    std::vector<std::int64_t> samples(static_cast<std::size_t>(std::min(options.batch_size, end - begin)));
    std::iota(samples.begin(), samples.end(), begin);
    const ReadBatch batch = read(data, samples);
    const std::vector<float> outputs =
        model.predict(batch.inputs, options.batch_size).to(DType::f32).to_vector<float>();
    const std::size_t width = outputs.size() / samples.size();
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const auto row = outputs.begin() + static_cast<std::ptrdiff_t>(i * width);
      use({.sample = samples[i],
           .label = batch.labels.empty() ? -1 : batch.labels[i],
           .outputs = {row, row + static_cast<std::ptrdiff_t>(width)}});
    }
  }
}

}  // namespace ronde::inline v0
