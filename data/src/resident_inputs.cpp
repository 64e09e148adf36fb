#include "resident_inputs.h"

#include <algorithm>
#include <limits>

#include <ronde/core/backend.h>

namespace ronde::inline v0 {

namespace {

/// (n, ...) as pictures; samples that are none have one row, whose last extent counts as channels.
Tensor as_pictures(const Tensor& samples, const Shape& shape) {
  const std::int64_t n = samples.size(0);
  if (shape.rank() == 3) return samples.reshape(shape.batch_of(n));
  const std::int64_t channels = shape.rank() > 0 ? shape.back() : 1;
  return samples.reshape({n, 1, channels == 0 ? 0 : shape.count() / channels, channels});
}

}  // namespace

std::optional<ResidentInputs> ResidentInputs::make(const Dataset& dataset, const LoaderOptions& options,
                                                   std::uint64_t seed) {
  if (!options.backend || options.backend->device().type == DeviceType::cpu) return std::nullopt;
  ResidentInputs resident;
  resident.dataset_ = &dataset;
  resident.stored_ = dataset.in_memory();
  resident.augmentation_ = options.augmentation;
  resident.seed_ = seed;
  if (!resident.stored_) return std::nullopt;
  const Tensor inputs = resident.stored_->inputs().slice(0, 0, dataset.size());
  if (static_cast<std::int64_t>(inputs.byte_size()) > options.resident_bytes ||
      inputs.size(0) > std::numeric_limits<std::int32_t>::max())
    return std::nullopt;
  PictureChanges changes(dataset.input_shape());
  if (!resident.plan(changes, {})) return std::nullopt;
  const std::optional<PictureSteps> steps = changes.steps_of_kernel();
  if (!steps) return std::nullopt;
  resident.steps_ = *steps;
  resident.table_ = inputs.to(*options.backend).reshape({inputs.size(0), inputs.shape().tail(1).count()});
  return resident;
}

/// Whether the steps of what becomes of a sample are known; those of any sample are the same.
bool ResidentInputs::plan(PictureChanges& changes, SampleKey sample) const {
  if (!dataset_->plan(changes, sample.sample)) return false;
  if (!augmentation_) return true;
  // On a CPU the picture is rounded in between, and moves of both would not be made as one.
  AugmentationRandom random(seed_, sample);
  return changes.steps().empty() && augmentation_->plan(changes, random);
}

void ResidentInputs::draw(const Tensor& numbers, const Tensor& keys) const {
  PictureChanges changes(dataset_->input_shape());
  const std::int64_t* key = keys.data<std::int64_t>();
  double* to = numbers.data<double>();
  for (std::int64_t i = 0; i < keys.size(0); ++i, key += 2) {
    changes.clear();
    require(plan(changes, {.sample = key[0], .epoch = key[1]}) &&
                std::ranges::equal(changes.steps(), steps_.all()),
            "[augmentation] the steps that it plans for sample ", key[0], " are not those of the others");
    to = std::ranges::copy(changes.numbers(), to).out;
  }
}

void ResidentInputs::gather(const Tensor& inputs, const Tensor& indices, const Tensor& numbers) const {
  const std::int64_t n = indices.size(0);
  Backend& backend = table_.backend();
  const InMemoryOptions& stored = stored_->options();
  if (steps_.count == 0)
    return backend.gather_scaled(inputs.reshape({n, table_.size(1)}), table_, indices, stored.scale,
                                 stored.offset);
  const Shape shape = dataset_->input_shape();
  backend.change_pictures(as_pictures(inputs, shape), as_pictures(table_, shape), indices, numbers,
                          {.scale = stored.scale, .offset = stored.offset, .steps = steps_});
}

}  // namespace ronde::inline v0
