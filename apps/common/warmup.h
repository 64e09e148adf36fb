/// Warmup: raises the learning rate, step by step, from its base to its scaled value over the first epochs.
#pragma once

#include <cstdint>

#include <ronde/models/callback.h>

namespace ronde::apps {

/// base + (scaled - base) * (epochs done, as a fraction, after this step) / warmup_epochs
struct WarmupRates {
  double base = 0.0;
  double scaled = 0.0;
  std::int64_t warmup_epochs = 0;  ///< 0: the scaled rate throughout
};

class Warmup : public Callback {
 public:
  explicit Warmup(WarmupRates rates) : rates_(rates) {}
  void on_epoch_begin(std::int64_t epoch) override { epoch_ = epoch; }
  void on_train_batch_begin(std::int64_t batch) override;

 private:
  WarmupRates rates_;
  std::int64_t epoch_ = 0;
};

}  // namespace ronde::apps
