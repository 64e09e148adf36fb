/// Adam: m += (g - m) * (1 - beta_1); v += (g^2 - v) * (1 - beta_2);
/// w -= rate * sqrt(1 - beta_2^t) / (1 - beta_1^t) * m / (sqrt(v) + epsilon).
///
/// AMSGrad takes the largest v seen so far. AdamW first shrinks the weights: w -= rate * weight_decay * w.
/// Betas (in beta^t) and weight_decay are rounded to float, as Keras does.
#pragma once

#include <ronde/nn/optimizer.h>

namespace ronde::inline v0 {

struct AdamOptions {
  double learning_rate = 0.001;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  bool amsgrad = false;
  double decay = 0.0;  ///< of the rate: learning_rate / (1 + decay * completed updates)
  ClipOptions clip = {};
};

struct AdamWOptions {
  double learning_rate = 0.001;
  double weight_decay = 0.004;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  bool amsgrad = false;
  double decay = 0.0;  ///< of the rate: learning_rate / (1 + decay * completed updates)
  ClipOptions clip = {};
};

class RONDE_API Adam : public Optimizer {
 public:
  explicit Adam(AdamOptions options = {});
  std::string name() const override { return "Adam"; }
  ConfigDict config() const override;
  void attach(ParameterArena& arena) override;

 protected:
  Adam(const AdamOptions& options, double weight_decay);
  void update(const Slice& slice, const StepParams& step) override;
  std::vector<OptimizerSlot> own_slots() const override;

 private:
  AdamOptions options_;
  Tensor momentum_, velocity_, max_velocity_;  // the last is undefined without amsgrad
};

class RONDE_API AdamW : public Adam {
 public:
  explicit AdamW(AdamWOptions options = {});
  std::string name() const override { return "AdamW"; }
};

}  // namespace ronde::inline v0
