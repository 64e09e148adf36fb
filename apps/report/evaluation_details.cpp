#include "report/evaluation_details.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include <ronde/core/counted.h>
#include <ronde/core/ops.h>
#include <ronde/core/whole_numbers.h>
#include <ronde/data/data_loader.h>
#include <ronde/data/image_file.h>
#include <ronde/models/view_outputs.h>
#include <ronde/nn/regularization_loss.h>

#include "report/probabilities.h"

namespace ronde::apps {
namespace {

bool is_worse(const Mistake& a, const Mistake& b) {
  return a.probability != b.probability ? a.probability > b.probability : a.sample < b.sample;
}

void keep_worst(std::vector<Mistake>& mistakes, std::int64_t count) {
  std::sort(mistakes.begin(), mistakes.end(), is_worse);
  if (std::ssize(mistakes) > count) mistakes.resize(static_cast<std::size_t>(count));
}

void require_labels(const Batch& batch, std::int64_t classes) {
  const std::vector<std::int32_t> labels = batch.targets.to_vector<std::int32_t>();
  const std::vector<std::int64_t> keys = batch.sample_keys.to_vector<std::int64_t>();
  for (std::size_t i = 0; i < labels.size(); ++i)
    require<UsageError>(labels[i] >= 0 && labels[i] < classes, "[evaluate] sample ", keys[2 * i],
                        " has label ", labels[i], ", but the net has ", counted(classes, "output"));
}

/// What one rank has seen.
struct Tally {
  std::int64_t classes = 0;
  double loss_sum = 0.0;
  std::int64_t count = 0;
  std::vector<std::int64_t> confusion = {};
  std::vector<Mistake> mistakes = {};

  /// outputs (n, classes), labels i32 (n), keys i64 (n, 2)
  void add(const Tensor& outputs, const Tensor& labels, const Tensor& keys);
};

void Tally::add(const Tensor& outputs, const Tensor& labels, const Tensor& keys) {
  const std::vector<double> scores = outputs.to_vector<double>();
  const std::vector<std::int32_t> truth = labels.to_vector<std::int32_t>();
  const std::vector<std::int64_t> samples = keys.to_vector<std::int64_t>();
  for (std::size_t i = 0; i < truth.size(); ++i) {
    const double* row = scores.data() + i * static_cast<std::size_t>(classes);
    const std::int64_t predicted = std::max_element(row, row + classes) - row;
    const std::int64_t label = truth[i];
    ++confusion[static_cast<std::size_t>(label * classes + predicted)];
    ++count;
    if (predicted == label) continue;
    const std::vector<double> p = probabilities({row, static_cast<std::size_t>(classes)});
    mistakes.push_back({.sample = samples[2 * i],
                        .label = label,
                        .predicted = predicted,
                        .probability = p[static_cast<std::size_t>(predicted)],
                        .label_probability = p[static_cast<std::size_t>(label)]});
  }
}

/// This rank's share of the samples, as `Model::evaluate` computes it.
Tally tally_share(Model& model, const Dataset& data, const DetailsOptions& options) {
  Communicator& communicator = model.communicator();
  const Tensor& weights = model.arena().values();
  DataLoader loader(
      data,
      ShardedSampler({.size = data.size(),
                      .global_batch = product_or_most<std::int64_t>(options.batch_size, communicator.size()),
                      .rank = communicator.rank(),
                      .world_size = communicator.size(),
                      .shuffle = false}),
      {.dtype = weights.dtype(), .backend = &weights.backend(), .threads = options.loader_threads});
  Tally tally{.classes = model.module().output_shape().back()};
  tally.confusion.resize(static_cast<std::size_t>(tally.classes * tally.classes));
  const NoGrad no_grad;
  loader.start(0, loader.sampler().steps_per_epoch());
  while (const Batch* batch = loader.next()) {
    if (batch->size() == 0) continue;
    require_labels(*batch, tally.classes);
    const Variable outputs =
        view_outputs(model.module(), batch->inputs, options.views, {.sample_keys = batch->sample_keys});
    tally.loss_sum += sum(model.loss()(outputs, batch->targets)).value().item();
    tally.add(outputs.value(), batch->targets, batch->sample_keys);
    keep_worst(tally.mistakes, options.mistakes);
  }
  return tally;
}

/// The worst of all ranks, without pictures. Collective.
std::vector<Mistake> gather_mistakes(Communicator& communicator, const Tally& tally, std::int64_t count) {
  constexpr std::int64_t kFields = 5;
  std::vector<double> own;
  for (const Mistake& m : tally.mistakes)
    own.insert(own.end(), {static_cast<double>(m.sample), static_cast<double>(m.label),
                           static_cast<double>(m.predicted), m.probability, m.label_probability});
  own.resize(static_cast<std::size_t>(count * kFields), -1.0);  // a sample of -1: none
  const Tensor in = Tensor::from<double>({count, kFields}, own);
  const Tensor out = Tensor::empty({count * communicator.size(), kFields}, {.dtype = DType::f64});
  communicator.allgather(out, in).wait();

  std::vector<Mistake> all;
  const std::vector<double> values = out.to_vector<double>();
  for (auto v = values.begin(); v != values.end(); v += kFields) {
    if (v[0] < 0.0) continue;
    all.push_back({.sample = std::llround(v[0]),
                   .label = std::llround(v[1]),
                   .predicted = std::llround(v[2]),
                   .probability = v[3],
                   .label_probability = v[4]});
  }
  keep_worst(all, count);
  return all;
}

/// u8 of values in [0, 1], or of the sample's own range when it leaves that.
Tensor as_picture(const Tensor& sample) {
  const std::vector<float> values = sample.to_vector<float>();
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  const bool stretch = *least < -1e-3f || *most > 1.0f + 1e-3f;
  const float low = stretch ? *least : 0.0f;
  const float range = stretch && *most > *least ? *most - *least : 1.0f;
  std::vector<std::uint8_t> bytes;
  bytes.reserve(values.size());
  for (const float value : values)
    bytes.push_back(
        static_cast<std::uint8_t>(std::lround(255.0f * std::clamp((value - low) / range, 0.0f, 1.0f))));
  return Tensor::from<std::uint8_t>(sample.shape(), bytes);
}

void add_pictures(std::vector<Mistake>& mistakes, const Dataset& data) {
  const Shape shape = data.input_shape();
  if (mistakes.empty() || shape.rank() != 3 || (shape[2] != 1 && shape[2] != 3)) return;
  std::vector<std::int64_t> samples;
  for (const Mistake& mistake : mistakes) samples.push_back(mistake.sample);
  Shape batch{std::ssize(samples)};
  for (const std::int64_t extent : shape) batch.push_back(extent);
  const Tensor inputs = Tensor::empty(batch);
  const Tensor labels = Tensor::empty({batch[0]}, {.dtype = DType::i32});
  data.read(samples, inputs, labels);
  for (std::size_t i = 0; i < mistakes.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i);
    mistakes[i].png = encode_png(as_picture(inputs.slice(0, row, row + 1).reshape(shape)));
  }
}

std::vector<std::string> names_of_classes(const Dataset& data, std::int64_t classes) {
  std::vector<std::string> names = data.class_names();
  for (std::int64_t i = std::ssize(names); i < classes; ++i) names.push_back(cat(i));
  names.resize(static_cast<std::size_t>(classes));
  return names;
}

void require_classifier(Model& model, const Dataset& data) {
  const Shape& outputs = model.module().output_shape();
  require<UsageError>(data.size() > 0, "[evaluate] the data set has no samples");
  require<UsageError>(data.input_shape() == model.module().input_shape(),
                      "[evaluate] the net takes inputs of shape ", model.module().input_shape(),
                      ", the data set has ", data.input_shape());
  require<UsageError>(outputs.rank() == 2 && outputs.back() >= 2,
                      "[evaluate] needs one output for each class, the net's are ", outputs.tail(1));
  require<UsageError>(data.target_dtype() == DType::i32 && data.target_shape().rank() == 0,
                      "[evaluate] needs class labels as targets, the data set has ", data.target_dtype(), " ",
                      data.target_shape());
}

}  // namespace

EvaluationDetails collect_details(Model& model, const Dataset& data, DetailsOptions options) {
  require_classifier(model, data);
  Communicator& communicator = model.communicator();
  Tally tally;
  collectively(communicator, [&] { tally = tally_share(model, data, options); });

  const Tensor confusion = Tensor::from<std::int64_t>({tally.classes, tally.classes}, tally.confusion);
  communicator.allreduce(confusion).wait();
  std::vector<double> totals{tally.loss_sum, static_cast<double>(tally.count)};
  allreduce_values(communicator, totals);

  EvaluationDetails details;
  details.class_names = names_of_classes(data, tally.classes);
  details.confusion = confusion.to_vector<std::int64_t>();
  details.test.count = std::llround(totals[1]);
  for (std::int64_t i = 0; i < tally.classes; ++i) details.test.correct += details.confused(i, i);
  const Tensor penalty =
      Tensor::zeros({}, {.dtype = DType::f64, .backend = &model.arena().values().backend()});
  add_regularization_loss(penalty, model.arena());
  details.test.loss = totals[0] / totals[1] + penalty.item();
  details.test.accuracy = static_cast<double>(details.test.correct) / static_cast<double>(details.test.count);
  if (options.mistakes > 0) details.mistakes = gather_mistakes(communicator, tally, options.mistakes);
  collectively(communicator, [&] { add_pictures(details.mistakes, data); });
  return details;
}

}  // namespace ronde::apps
