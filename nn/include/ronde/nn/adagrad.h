/// Adagrad: a += g^2; w -= rate * g / sqrt(a + epsilon).
#pragma once

#include <ronde/nn/optimizer.h>

namespace ronde::inline v0 {

struct AdagradOptions {
  double learning_rate = 0.001;
  double initial_accumulator_value = 0.1;
  double epsilon = 1e-7;
  double decay = 0.0;  ///< of the rate: learning_rate / (1 + decay * completed updates)
  ClipOptions clip = {};
};

class RONDE_API Adagrad : public Optimizer {
 public:
  explicit Adagrad(AdagradOptions options = {});
  std::string name() const override { return "Adagrad"; }
  ConfigDict config() const override;
  void attach(ParameterArena& arena) override;

 protected:
  void update(const Slice& slice, const StepParams& step) override;
  std::vector<OptimizerSlot> own_slots() const override;

 private:
  AdagradOptions options_;
  Tensor accumulator_;
};

}  // namespace ronde::inline v0
