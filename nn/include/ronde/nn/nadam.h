/// Nadam: Adam with Nesterov's momentum. With mu_t = beta_1 * (1 - 0.96^t / 2) and M_t = mu_1 * ... * mu_t:
///
///     m += (g - m) * (1 - beta_1); v += (g^2 - v) * (1 - beta_2);
///     w -= rate * (mu_(t+1) * m / (1 - M_(t+1)) + (1 - mu_t) * g / (1 - M_t))
///               / (sqrt(v / (1 - beta_2^t)) + epsilon)
///
/// The betas and 0.96 are rounded to float, as Keras does. M_t follows from t, so a file need not tell it.
/// (The compiled `fit` of Keras 2 multiplies M_t by mu_t once for each weight, and so takes other steps than
/// this, than Keras 3 and than itself step by step.) Source: Dozat, "Incorporating Nesterov momentum into
/// Adam", 2016.
#pragma once

#include <ronde/nn/optimizer.h>

namespace ronde::inline v0 {

struct NadamOptions {
  double learning_rate = 0.001;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  double decay = 0.0;  ///< of the rate: learning_rate / (1 + decay * completed updates)
  ClipOptions clip = {};
};

class RONDE_API Nadam : public Optimizer {
 public:
  explicit Nadam(NadamOptions options = {});
  std::string name() const override { return "Nadam"; }
  ConfigDict config() const override;
  void attach(ParameterArena& arena) override;
  /// M_t, which Keras 3 keeps in its files.
  double momentum_product(std::int64_t t) const;

 protected:
  void update(const Slice& slice, const StepParams& step) override;
  std::vector<OptimizerSlot> own_slots() const override;

 private:
  double momentum_at(std::int64_t t) const;

  NadamOptions options_;
  Tensor momentum_, velocity_;
  Tensor gradient_, scratch_;         // of a slice
  mutable std::int64_t factors_ = 0;  // that are in product_: mu_1, ...
  mutable double product_ = 1.0;
};

}  // namespace ronde::inline v0
