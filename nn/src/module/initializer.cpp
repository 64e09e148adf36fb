#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include <ronde/core/backend.h>
#include <ronde/core/philox.h>
#include <ronde/core/thread_pool.h>
#include <ronde/nn/initializer.h>
#include <ronde/nn/weight_layout.h>

#include "module/orthogonal.h"

namespace ronde::inline v0 {

namespace {

// Standard deviation of a standard normal cut at two deviations.
constexpr double kTruncatedDeviation = 0.87962566103423978;

/// The random words of one element of one weight.
struct Draw {
  std::uint64_t key;
  std::uint64_t element;

  Philox4 words(std::uint32_t attempt) const {
    return philox(
        key, {static_cast<std::uint32_t>(element), static_cast<std::uint32_t>(element >> 32), attempt, 0});
  }
  double uniform() const {
    const Philox4 w = words(0);
    return uniform_double(w[0], w[1]);
  }
  double normal(std::uint32_t attempt = 0) const { return normal_double(words(attempt)); }
  double truncated_normal() const {
    for (std::uint32_t attempt = 0;; ++attempt) {
      const double value = normal(attempt);
      if (std::abs(value) <= 2.0) return value;
    }
  }
};

/// Fans by Keras' rule: the last two axes are (in, out), the others the receptive field.
double fan(const Shape& shape, Initializer::FanMode mode) {
  if (shape.rank() == 0) return 1.0;
  if (shape.rank() == 1) return static_cast<double>(shape[0]);
  const std::int64_t field = shape.count() / std::max<std::int64_t>(shape[-1] * shape[-2], 1);
  const auto in = static_cast<double>(shape[-2] * field), out = static_cast<double>(shape[-1] * field);
  if (mode == Initializer::FanMode::fan_in) return in;
  return mode == Initializer::FanMode::fan_out ? out : (in + out) / 2.0;
}

/// What numbers are drawn from: between low and high, or around a mean.
struct Sampling {
  Initializer::Kind kind;
  double low_or_mean, high_or_deviation;

  double value(const Draw& draw) const {
    if (kind == Initializer::random_uniform_kind)
      return low_or_mean + (high_or_deviation - low_or_mean) * draw.uniform();
    const bool is_cut = kind == Initializer::truncated_normal_kind;
    return low_or_mean + high_or_deviation * (is_cut ? draw.truncated_normal() : draw.normal());
  }
};

/// Each is made of its place alone, so by all threads.
void draw(std::uint64_t key, std::int64_t begin, std::span<double> values, const Sampling& sampling) {
  constexpr std::int64_t kGrain = 1 << 8;
  default_backend().threads().parallel_for(
      std::ssize(values), kGrain, [&](std::int64_t from, std::int64_t to) {
        for (std::int64_t i = from; i < to; ++i)
          values[static_cast<std::size_t>(i)] =
              sampling.value(Draw{key, static_cast<std::uint64_t>(begin + i)});
      });
}

/// Made in double precision piece by piece: a large weight is not in memory three times.
Tensor generate(const Shape& shape, const std::string& full_name, const BuildOptions& options,
                const Sampling& sampling) {
  constexpr std::int64_t kPieceOfThread = 1 << 14;
  const std::uint64_t key = random_key(options.seed, hash_name(full_name));
  const Tensor weight = Tensor::empty_once(shape, {.dtype = options.dtype, .backend = options.backend});
  const std::int64_t most = std::min(shape.count(), kPieceOfThread * default_backend().threads().size());
  std::vector<double> values(static_cast<std::size_t>(most));
  for (std::int64_t begin = 0; begin < shape.count(); begin += most) {
    const std::int64_t count = std::min(most, shape.count() - begin);
    const std::span<double> made(values.data(), static_cast<std::size_t>(count));
    draw(key, begin, made, sampling);
    weight.view(begin, {count}).copy_from(Tensor::from<double>({count}, made, options.backend));
  }
  return weight;
}

/// A weight of this shape in Keras' files as the matrix (all other axes, last axis), whose rows or columns,
/// of which there are fewer, are the vectors.
Tensor orthogonal_matrix(const Shape& shape, std::uint64_t key, double gain) {
  const std::int64_t columns = shape.back(), rows = shape.count() / std::max<std::int64_t>(columns, 1);
  const std::int64_t count = std::min(rows, columns), length = std::max(rows, columns);
  std::vector<double> vectors(static_cast<std::size_t>(count * length));
  draw(key, 0, vectors, {Initializer::random_normal_kind, 0.0, 1.0});
  make_orthogonal(vectors, length);
  for (double& value : vectors) value *= gain;
  const Tensor made = Tensor::from<double>({count, length}, vectors);
  return rows < columns ? made.reshape(shape) : made.permute({1, 0}).reshape(shape);
}

}  // namespace

Initializer::Initializer(Kind kind) : kind_(kind), a_(kind == orthogonal ? 1.0 : 0.0) {
  require(kind < constant_kind,
          "[initializer] this one needs numbers: use its function, as in "
          "Initializer::constant(0.1)");
}

Initializer Initializer::constant(double value) {
  return {constant_kind, value, 0.0};
}
Initializer Initializer::random_uniform(double low, double high) {
  return {random_uniform_kind, low, high};
}
Initializer Initializer::random_normal(double mean, double deviation) {
  return {random_normal_kind, mean, deviation};
}
Initializer Initializer::truncated_normal(double mean, double deviation) {
  return {truncated_normal_kind, mean, deviation};
}
Initializer Initializer::scaled_orthogonal(double gain) {
  return {orthogonal, gain, 0.0};
}
Initializer Initializer::variance_scaling(VarianceScaling options) {
  require<UsageError>(options.scale > 0, "[initializer] the scale must be positive, got ", options.scale);
  Initializer result(variance_scaling_kind, 0.0, 0.0);
  result.scaling_ = options;
  return result;
}

Initializer::VarianceScaling Initializer::scaling() const {
  switch (kind_) {
    case glorot_uniform:
      return {1.0, FanMode::fan_avg, Distribution::uniform};
    case glorot_normal:
      return {1.0, FanMode::fan_avg, Distribution::truncated_normal};
    case he_uniform:
      return {2.0, FanMode::fan_in, Distribution::uniform};
    case he_normal:
      return {2.0, FanMode::fan_in, Distribution::truncated_normal};
    case lecun_uniform:
      return {1.0, FanMode::fan_in, Distribution::uniform};
    case lecun_normal:
      return {1.0, FanMode::fan_in, Distribution::truncated_normal};
    default:
      return scaling_;
  }
}

Initializer Initializer::identity(Initializer rest) {
  rest.is_identity_ = true;
  return rest;
}

Tensor Initializer::make(const Shape& shape, const std::string& full_name, const BuildOptions& options,
                         WeightLayout layout, std::int64_t depth_multiplier) const {
  Tensor weight = make_rest(shape, full_name, options, layout, depth_multiplier);
  if (!is_identity_) return weight;
  require<UsageError>(layout == WeightLayout::conv, "[initializer] identity is for convolutions, ", full_name,
                      " is ", shape);
  const std::int64_t channels = shape[3], filters = std::min(shape[0], channels);
  weight.slice(0, 0, filters).fill(0.0);
  for (std::int64_t i = 0; i < filters; ++i)
    weight.view(((i * shape[1] + shape[1] / 2) * shape[2] + shape[2] / 2) * channels + i, {1}).fill(1.0);
  return weight;
}

Tensor Initializer::make_rest(const Shape& shape, const std::string& full_name, const BuildOptions& options,
                              WeightLayout layout, std::int64_t depth_multiplier) const {
  const TensorOptions tensor{.dtype = options.dtype, .backend = options.backend};
  const auto drawn = [&](Kind kind, double a, double b) {
    return generate(shape, full_name, options, {kind, a, b});
  };
  const bool is_drawn = kind_ != zeros && kind_ != ones && kind_ != constant_kind;
  if (is_drawn && !options.draws) return Tensor::zeros_once(shape, tensor);
  switch (kind_) {
    case zeros:
      return Tensor::zeros(shape, tensor);
    case ones:
      return Tensor::full(shape, 1.0, tensor);
    case constant_kind:
      return Tensor::full(shape, a_, tensor);
    case random_uniform_kind:
    case random_normal_kind:
    case truncated_normal_kind:
      return drawn(kind_, a_, b_);
    case orthogonal: {
      const Shape in_files = keras_shape(shape, layout, depth_multiplier);
      require<UsageError>(in_files.rank() >= 2,
                          "[initializer] orthogonal is for weights of two axes and more, ", full_name, " is ",
                          in_files);
      Parameter weight{.name = full_name,
                       .variable = Variable(Tensor::empty_once(shape, tensor)),
                       .layout = layout,
                       .depth_multiplier = depth_multiplier};
      assign_keras_layout(weight,
                          orthogonal_matrix(in_files, random_key(options.seed, hash_name(full_name)), a_));
      return weight.variable.value();
    }
    default:
      break;
  }
  const VarianceScaling s = scaling();
  const double variance = s.scale / std::max(1.0, fan(keras_shape(shape, layout, depth_multiplier), s.mode));
  const double limit = std::sqrt(3.0 * variance);
  if (s.distribution == Distribution::uniform) return drawn(random_uniform_kind, -limit, limit);
  if (s.distribution == Distribution::normal) return drawn(random_normal_kind, 0.0, std::sqrt(variance));
  return drawn(truncated_normal_kind, 0.0, std::sqrt(variance) / kTruncatedDeviation);
}

}  // namespace ronde::inline v0
