/// Learning rates as pure functions of a position in training (a step or an epoch, which may be a fraction).
///
///     ExponentialDecay rate({.initial_rate = 0.1, .decay_steps = 1000, .decay_rate = 0.5});
///     optimizer.set_learning_rate(rate(step));
///
/// Formulas and names are Keras'; the warm-up's is Horovod's.
#pragma once

#include <cstdint>
#include <vector>

#include <ronde/core/export.h>

namespace ronde::inline v0 {

class RONDE_API LearningRateSchedule {
 public:
  virtual ~LearningRateSchedule() = default;
  virtual double operator()(double position) const = 0;
};

class RONDE_API ConstantRate : public LearningRateSchedule {
 public:
  explicit ConstantRate(double rate) : rate_(rate) {}
  double operator()(double position) const override;

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

 private:
  DecayOptions options_;
};

/// initial_rate * decay_rate ^ (position / decay_steps)
class RONDE_API ExponentialDecay : public LearningRateSchedule {
 public:
  explicit ExponentialDecay(DecayOptions options);
  double operator()(double position) const override;

 private:
  DecayOptions options_;
};

/// values[i] where i is the number of boundaries below the position: values[0] up to and with boundaries[0].
class RONDE_API PiecewiseConstant : public LearningRateSchedule {
 public:
  PiecewiseConstant(std::vector<double> boundaries, std::vector<double> values);
  double operator()(double position) const override;

 private:
  std::vector<double> boundaries_, values_;
};

struct CosineDecayOptions {
  double initial_rate = 0.001;
  double decay_steps = 1.0;
  double alpha = 0.0;  ///< what is left at the end, as a share of initial_rate
};

/// initial_rate * ((1 - alpha) * (1 + cos(pi * min(position / decay_steps, 1))) / 2 + alpha)
class RONDE_API CosineDecay : public LearningRateSchedule {
 public:
  explicit CosineDecay(CosineDecayOptions options);
  double operator()(double position) const override;

 private:
  CosineDecayOptions options_;
};

/// Linear scaling: the global batch is world_size times larger, so the rate is too.
RONDE_API double scaled_learning_rate(double base_rate, std::int64_t world_size);

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
