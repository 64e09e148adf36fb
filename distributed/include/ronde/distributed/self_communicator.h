/// SelfCommunicator: a world of one rank. Every collective is the identity, but for its scales, and done when
/// it returns.
#pragma once

#include <ronde/distributed/communicator.h>

namespace ronde::inline v0 {

class RONDE_API SelfCommunicator final : public Communicator {
 public:
  SelfCommunicator();
  ~SelfCommunicator() override;

  int rank() const override { return 0; }
  int size() const override { return 1; }
  int local_rank() const override { return 0; }
  int local_size() const override { return 1; }
  int cross_rank() const override { return 0; }
  int cross_size() const override { return 1; }
  std::string name() const override { return "self"; }

  Work start(Collective call) override;
  std::unique_ptr<Communicator> split(int color, int key) override;
  bool conclude(const Ending& ending) override;
  void raise_notice(int level) override { queue_->raise_notice(level); }
  int take_notice() override { return queue_->take_notice(); }
  std::shared_ptr<FlightRecorder> flight_recorder() override { return queue_->flight_recorder(); }

 private:
  std::unique_ptr<Communicator> queue_;
};

}  // namespace ronde::inline v0
