/// Learning rates as pure functions of a position in training (a step or an epoch, which may be a fraction).
///
///     ExponentialDecay rate({.initial_rate = 0.1, .decay_steps = 1000, .decay_rate = 0.5});
///     optimizer.set_learning_rate(rate(step));
///
/// or, for a whole training, as a share of the optimizer's rate:
///
///     const OneCycleOptions options{.peak_rate = 1, .total_steps = 235};
///     optimizer.set_schedule(std::make_shared<OneCycle>(options));
///
/// Formulas and names are Keras', and all of Keras' schedules are here, so that an optimizer with one comes
/// from and goes to its files; the warm-up's is Horovod's, the one cycle's PyTorch's.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <ronde/nn/config.h>

namespace ronde::inline v0 {

class RONDE_API LearningRateSchedule {
 public:
  virtual ~LearningRateSchedule() = default;
  virtual double operator()(double position) const = 0;
  /// Its class and settings, which ranks of one training and its resumption have in common; nothing of a
  /// schedule that leaves it out is compared.
  virtual ConfigDict config() const { return {}; }
};

class RONDE_API ConstantRate : public LearningRateSchedule {
 public:
  explicit ConstantRate(double rate) : rate_(rate) {}
  double operator()(double position) const override;
  ConfigDict config() const override;

 private:
  double rate_;
};

struct DecayOptions {
  double initial_rate = 0.001;
  double decay_steps = 1.0;
  double decay_rate = 0.5;
  bool staircase = false;  ///< position / decay_steps is rounded down
};

/// initial_rate / (1 + decay_rate * position / decay_steps)
class RONDE_API InverseTimeDecay : public LearningRateSchedule {
 public:
  explicit InverseTimeDecay(DecayOptions options);
  double operator()(double position) const override;
  ConfigDict config() const override;

 private:
  DecayOptions options_;
};

/// initial_rate * decay_rate ^ (position / decay_steps)
class RONDE_API ExponentialDecay : public LearningRateSchedule {
 public:
  explicit ExponentialDecay(DecayOptions options);
  double operator()(double position) const override;
  ConfigDict config() const override;

 private:
  DecayOptions options_;
};

/// values[i] where i is the number of boundaries below the position: values[0] up to and with boundaries[0].
class RONDE_API PiecewiseConstant : public LearningRateSchedule {
 public:
  PiecewiseConstant(std::vector<double> boundaries, std::vector<double> values);
  double operator()(double position) const override;
  ConfigDict config() const override;

 private:
  std::vector<double> boundaries_, values_;
};

struct CosineDecayOptions {
  double initial_rate = 0.001;
  double decay_steps = 1.0;
  double alpha = 0.0;  ///< what is left at the end, as a share of the rate that decays
  /// If set, 0 too, the rate first goes in warmup_steps along a straight line from initial_rate to this, up
  /// or down, and decays from there in the decay_steps that follow. Else there is no warm-up, as in Keras.
  std::optional<double> warmup_target = {};
  double warmup_steps = 0.0;
};

/// initial_rate * ((1 - alpha) * (1 + cos(pi * min(position / decay_steps, 1))) / 2 + alpha)
class RONDE_API CosineDecay : public LearningRateSchedule {
 public:
  explicit CosineDecay(CosineDecayOptions options);
  double operator()(double position) const override;
  ConfigDict config() const override;

 private:
  CosineDecayOptions options_;
};

struct CosineDecayRestartsOptions {
  double initial_rate = 0.001;
  double first_decay_steps = 1.0;
  double t_mul = 2.0;  ///< how many times longer each period is than the one before it
  double m_mul = 1.0;  ///< what the rate at the start of a period is of the one before it
  double alpha = 0.0;  ///< what is left at the end of a period, as a share of initial_rate
};

/// CosineDecay that begins anew at the end of each period.
/// Source: Loshchilov, Hutter, "SGDR: stochastic gradient descent with warm restarts", 2017.
class RONDE_API CosineDecayRestarts : public LearningRateSchedule {
 public:
  explicit CosineDecayRestarts(CosineDecayRestartsOptions options);
  double operator()(double position) const override;
  ConfigDict config() const override;

 private:
  CosineDecayRestartsOptions options_;
};

struct PolynomialDecayOptions {
  double initial_rate = 0.001;
  double decay_steps = 1.0;
  double end_rate = 0.0001;
  double power = 1.0;  ///< 1: a straight line
  bool cycle = false;  ///< decay_steps are taken as many times as the position needs, instead of stopping
};

/// (initial_rate - end_rate) * (1 - min(position / decay_steps, 1)) ^ power + end_rate
class RONDE_API PolynomialDecay : public LearningRateSchedule {
 public:
  explicit PolynomialDecay(PolynomialDecayOptions options);
  double operator()(double position) const override;
  ConfigDict config() const override;

 private:
  PolynomialDecayOptions options_;
};

struct OneCycleOptions {
  double peak_rate = 0.01;
  std::int64_t total_steps = 2;
  double warmup_share = 0.3;       ///< of the steps; the peak is at the last of them
  double start_divisor = 25.0;     ///< it begins at peak_rate / start_divisor
  double final_divisor = 10000.0;  ///< and ends, with the last step, at that / final_divisor
};

/// Half a cosine up to the peak and half a cosine down to nearly nothing, as PyTorch's OneCycleLR has it.
/// Source: Smith, Topin, "Super-convergence", 2018.
class RONDE_API OneCycle : public LearningRateSchedule {
 public:
  explicit OneCycle(OneCycleOptions options);
  double operator()(double position) const override;
  ConfigDict config() const override;

 private:
  OneCycleOptions options_;
};

struct WarmupOptions {
  double rate = 0.001;  ///< the scaled rate, reached at the end of the warm-up
  double scale = 1.0;   ///< what it was scaled by: the number of ranks, with linear scaling
  std::int64_t steps_per_epoch = 1;
  double warmup_epochs = 5.0;
};

/// The rate for batch `batch` of epoch `epoch` (both 0-based): it grows from rate / scale to rate,
/// linear in the batches done, and is `rate` after warmup_epochs.
RONDE_API double warmup_learning_rate(const WarmupOptions& options, std::int64_t epoch, std::int64_t batch);

}  // namespace ronde::inline v0
