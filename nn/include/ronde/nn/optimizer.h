/// Optimizer: turns the arena's gradients into new weights, in Keras' formulas, one fused pass over the
/// arena.
///
///     Adam adam({.learning_rate = 1e-3});
///     adam.attach(arena);
///     ... backward ...
///     adam.step();
///
/// Formulas are Keras' (2.11 and later); each optimizer's header states its own. In all of them g is the
/// scaled and clipped gradient, w the weight and t = 1 at the first step. `weights -= update(scale *
/// gradients)`, to which the gradients of regularizers are added (regularizer.h); clipping comes after
/// scaling: by the norm of each parameter (clip.norm), by the norm of all (clip.global_norm), or by value.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ronde/core/kernel_params.h>
#include <ronde/nn/config.h>
#include <ronde/nn/parameter_arena.h>
#include <ronde/nn/schedule.h>

namespace ronde::inline v0 {

/// Limits of the gradient; 0 = off, at most one of them.
struct ClipOptions {
  double norm = 0.0;
  double global_norm = 0.0;
  double value = 0.0;
};

/// A moving average of the weights, as Keras' use_ema. After each update
///
///     average = momentum * average + (1 - momentum) * w
///
/// and the first update's is w itself. Frozen weights and moving statistics have none. Updates count, also
/// those of several batches each (`FitOptions.backward_passes_per_step`): they are as of one large batch.
struct MovingAverageOptions {
  double momentum = 0.99;                ///< Keras' ema_momentum, in [0, 1]
  std::int64_t overwrite_frequency = 0;  ///< after every so many updates w becomes the average; 0: never
};

/// A flat buffer of optimizer state; views of the optimizer's own memory.
struct OptimizerSlot {
  std::string name;  ///< Keras' name: "velocity", "momentum", ...
  Tensor values;     ///< (arena.trainable_size(),), or the elements of the part that is updated
};

/// Names of the moving average's slot: Keras' own, and another while it holds the trained weights and the
/// arena the averages.
inline constexpr const char* kAverageSlot = "average";
inline constexpr const char* kTrainedSlot = "trained";

/// Elements [begin, end) of an arena's flat buffers.
struct ArenaRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t count() const { return end - begin; }
};

/// What an optimizer updates when others update the rest (ZeRO).
struct OptimizerPart {
  std::vector<ArenaRange> ranges;  ///< ascending; trainable elements
  /// Adds up numbers over all parts, in place: norms are those of all gradients.
  std::function<void(std::vector<double>& values)> sum;
  /// Where its state lies, when several optimizers share it out (optimizer_groups.h): a flat buffer for each
  /// slot, and the place in it of an element of the arena. Empty: memory of its own.
  std::function<Tensor(const std::string& slot)> state = {};
  std::function<std::int64_t(std::int64_t element)> place = {};
};

class RONDE_API Optimizer {
 public:
  virtual ~Optimizer() = default;

  /// Keras' class name: "Adam".
  virtual std::string name() const = 0;
  /// Keras' keys; learning_rate as it is now, with a decay as the schedule InverseTimeDecay, or else with a
  /// `schedule` that Keras has. Settings Keras has no key for are left out. Empty for an optimizer that Keras
  /// does not have, which files for Keras leave out.
  virtual ConfigDict config() const;
  /// The settings Keras has no key for, where they are not the defaults; `optimizer_from_config` knows them
  /// beside those of config().
  virtual ConfigDict own_settings() const { return {}; }

  /// Allocates fresh state for the arena, which must outlive this object, and counts updates from 0.
  virtual void attach(ParameterArena& arena);
  ParameterArena& arena() const;
  /// Before `attach`: this optimizer has state for, and updates, this part only.
  void restrict_to(OptimizerPart part);
  /// One update; the gradient used is scale * arena.gradients() plus that of the regularizers' penalties.
  /// Zeroes no gradient, but adds those penalties' to arena.gradients(), and clipping by norm scales
  /// gradients of excessive norm in place. A UsageError when another arena has taken the weights.
  void step(double scale = 1.0);
  /// Completed updates.
  std::int64_t iterations() const { return iterations_; }
  void set_iterations(std::int64_t iterations) { iterations_ = iterations; }

  /// What a step counts beside weights and slots: for whoever takes one back that was not computed after all.
  struct Counters {
    std::int64_t iterations = 0;
    double momentum_factor = 1.0;
  };
  Counters counters() const { return {iterations_, momentum_factor_}; }
  void set_counters(Counters counters) {
    iterations_ = counters.iterations;
    momentum_factor_ = counters.momentum_factor;
  }

  /// The base rate, before the inverse-time `decay` of the options.
  double learning_rate() const { return learning_rate_; }
  void set_learning_rate(double rate) { learning_rate_ = rate; }
  /// From now on the rate of a step is learning_rate() times schedule(completed updates): schedules of this
  /// kind begin or peak at 1, so that scaling by the number of ranks, warm-up and callbacks work as without.
  /// A resumed training goes on where it was, since it depends on nothing else. nullptr: none.
  void set_schedule(std::shared_ptr<const LearningRateSchedule> schedule) { schedule_ = std::move(schedule); }
  const LearningRateSchedule* schedule() const { return schedule_.get(); }
  /// The inverse-time `decay` of the options.
  double decay() const { return common_.decay; }
  /// The rate the next step uses: learning_rate * schedule(iterations) / (1 + decay * iterations).
  double current_learning_rate() const;

  /// Multiplies the momentum of the next step only: Horovod's correction when the rate changes from old to
  /// new is factor = new / old. Factors of several calls before that step are multiplied. For optimizers
  /// whose velocity holds the rate (SGD, RMSprop); the others ignore it.
  void scale_momentum_once(double factor) { momentum_factor_ *= factor; }

  /// Before `attach`: keeps the average of the weights it updates.
  void set_moving_average(MovingAverageOptions options);
  const std::optional<MovingAverageOptions>& moving_average() const { return moving_average_; }
  /// Exchanges weights and averages: evaluated and saved are the averages then, until they are exchanged
  /// again. A UsageError without a moving average. A step made meanwhile goes on from the averages, as
  /// `keep_average` does. On each rank alone; DistributedOptimizer's does it on all.
  void swap_average();
  /// Whether the weights are the averages.
  bool is_averaged() const { return is_averaged_; }
  /// The weights stay the averages that they are, and the trained ones are forgotten. Otherwise nothing.
  void keep_average();

  /// The moving average, if there is one, and what the algorithm keeps.
  std::vector<OptimizerSlot> slots() const;
  /// For whoever fills weights and slots from elsewhere: whether the weights are the averages now.
  void set_averaged(bool is_averaged) { is_averaged_ = is_averaged && moving_average_; }

 protected:
  struct Common {
    double learning_rate;
    double decay;
    double weight_decay = 0.0;
    ClipOptions clip;
  };
  /// Neighbouring elements that are updated by one kernel.
  struct Slice {
    Tensor values;
    Tensor gradients;
    std::int64_t state_offset = 0;
    std::int64_t begin = 0;  ///< the first one's place in the arena
    /// The elements of a state that belong to it; undefined when the state is.
    Tensor of(const Tensor& state) const {
      return state.defined() ? state.view(state_offset, values.shape()) : state;
    }
  };
  /// A UsageError for a rate, a decay or a clip limit that is negative or no finite number.
  explicit Optimizer(const Common& common);
  /// One update without what all optimizers have in common: the moving average and the counters.
  virtual void update_weights(double scale);
  /// The algorithm: updates values from gradients. Called for each range of the part, in order.
  virtual void update(const Slice& slice, const StepParams& step) = 0;
  /// The state of the algorithm.
  virtual std::vector<OptimizerSlot> own_slots() const = 0;
  /// State for all elements that this optimizer updates, which start at `value`.
  Tensor make_state(const std::string& slot, double value = 0.0) const;
  /// Room for the largest slice, not initialised.
  Tensor make_scratch() const;
  /// to = clip(step.grad_scale * gradients), for an update that is made of several kernels.
  static void scale_gradients(const Tensor& to, const Tensor& gradients, const StepParams& step);
  /// What this optimizer updates of the arena it is attached to.
  const OptimizerPart& part() const { return part_; }
  const Common& common() const { return common_; }
  /// What `update` has to multiply its momentum with.
  double momentum_factor() const { return momentum_factor_; }
  /// Keras' keys of the moving average; empty without one.
  ConfigDict moving_average_config() const;

 private:
  ConfigValue described_rate() const;
  std::vector<Slice> slices() const;
  void start_average();
  void update_average();
  void overwrite_weights();

  Common common_;
  double learning_rate_;
  double momentum_factor_ = 1.0;
  std::int64_t iterations_ = 0;
  std::shared_ptr<const LearningRateSchedule> schedule_;
  ParameterArena* arena_ = nullptr;
  std::optional<OptimizerPart> given_part_;
  OptimizerPart part_;  // of the arena it is attached to
  std::optional<MovingAverageOptions> moving_average_;
  Tensor average_;  // the trained weights, while the arena's are the averages
  bool is_averaged_ = false;
};

/// All settings that decide its updates, except the rate, which changes while it trains: what ranks of one
/// training must have in common, and the run that goes on with another.
RONDE_API ConfigDict settings_of(const Optimizer& optimizer);

}  // namespace ronde::inline v0
