/// Initializer: how a weight starts, with Keras' names, distributions and defaults.
///
///     Dense({.units = 10, .kernel_initializer = Initializer::he_normal});
///     Dense({.units = 10, .bias_initializer = Initializer::constant(0.1)});
///
/// The numbers are a function of (seed, full name of the weight, element) alone: the same on every rank, for
/// every dtype and in any order of creation. They follow Keras' distributions, not its random bits.
#pragma once

#include <cstdint>
#include <string>

#include <ronde/nn/module.h>

namespace ronde::inline v0 {

class RONDE_API Initializer {
 public:
  enum Kind {
    zeros,
    ones,
    glorot_uniform,
    glorot_normal,
    he_uniform,
    he_normal,
    lecun_uniform,
    lecun_normal,
    orthogonal,  ///< rows or columns, of the last axis, that are orthogonal to each other and of length 1
    constant_kind,
    random_uniform_kind,
    random_normal_kind,
    truncated_normal_kind,
    variance_scaling_kind,
  };
  enum class FanMode { fan_in, fan_out, fan_avg };
  enum class Distribution { uniform, normal, truncated_normal };
  struct VarianceScaling {
    double scale = 1.0;
    FanMode mode = FanMode::fan_in;
    Distribution distribution = Distribution::truncated_normal;
  };

  /// One that needs no numbers: `Initializer::he_normal`.
  Initializer(Kind kind);

  static Initializer constant(double value);
  static Initializer random_uniform(double low = -0.05, double high = 0.05);
  static Initializer random_normal(double mean = 0.0, double deviation = 0.05);
  /// Values further than two deviations from the mean are drawn again.
  static Initializer truncated_normal(double mean = 0.0, double deviation = 0.05);
  /// Variance scale / fan; a truncated normal is widened so that its variance is that.
  static Initializer variance_scaling(VarianceScaling options);

  /// `orthogonal` times `gain`. Source: Saxe et al., "Exact solutions to the nonlinear dynamics of learning
  /// in deep linear neural networks", 2013.
  static Initializer scaled_orthogonal(double gain);

  /// For kernels of convolutions, in front of which the picture should pass unchanged at first: the first
  /// filters, one for each input channel, are 1 at their middle and that channel, else 0; what filters there
  /// are beyond start as `rest` says. Keras does not have it: files tell it of `rest`. Source: Zagoruyko,
  /// Komodakis, "DiracNets", 2017.
  static Initializer identity(Initializer rest);

  /// A weight of this (memory) `shape`; fans are computed from Keras' shape. `full_name` keys the numbers.
  Tensor make(const Shape& shape, const std::string& full_name, const BuildOptions& options,
              WeightLayout layout = WeightLayout::plain, std::int64_t depth_multiplier = 1) const;

  Kind kind() const { return kind_; }
  /// Keras' short form: {"class_name": "GlorotUniform", "config": {"seed": null}}.
  ConfigDict config() const;
  /// From Keras' short or long form or a name ("he_normal"); an InputError for one that is not known.
  static Initializer from_config(const ConfigValue& config);

 private:
  Initializer(Kind kind, double a, double b) : kind_(kind), a_(a), b_(b) {}
  VarianceScaling scaling() const;
  Tensor make_rest(const Shape& shape, const std::string& full_name, const BuildOptions& options,
                   WeightLayout layout, std::int64_t depth_multiplier) const;

  Kind kind_;
  double a_ = 0.0;  // the constant, the lower bound, the mean or the gain
  double b_ = 0.0;  // the upper bound or the deviation
  VarianceScaling scaling_;
  bool is_identity_ = false;  // else all of this is the rest
};

}  // namespace ronde::inline v0
