/// WeightsLine: prints the SHA-256 of the weights after each epoch, which all ranks have by then been found
/// to share (FitOptions::check_replicas_every).
#pragma once

#include <ronde/models/callback.h>

namespace ronde::apps {

class WeightsLine : public Callback {
 public:
  void on_epoch_end(std::int64_t epoch, Logs& logs) override;
};

}  // namespace ronde::apps
