/// ReplicaCheck: after each epoch, makes sure that all ranks have the same weights, bit for bit.
#pragma once

#include <ronde/models/callback.h>

namespace ronde::apps {

/// A difference is a CollectiveError on all ranks (exit status 87) that names the first other rank. With
/// `verbose`, rank 0 prints the weights' SHA-256.
class ReplicaCheck : public Callback {
 public:
  explicit ReplicaCheck(bool verbose) : verbose_(verbose) {}
  void on_epoch_end(std::int64_t epoch, Logs& logs) override;

 private:
  bool verbose_;
};

}  // namespace ronde::apps
