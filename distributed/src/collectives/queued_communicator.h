/// QueuedCommunicator: a Communicator over a Transport and an Executor.
///
/// Note [Meeting]: every operation begins with a meeting, in which the ranks wait for each other without
/// using the processor and compare a hash of what they call. When all agree, data moves at full speed, nobody
/// waiting. When they do not, they exchange what they call and throw the same CollectiveError everywhere. A
/// rank whose arguments are wrong comes with its objection instead of a call, and a rank that cannot go on
/// with its error (`conclude`), so nobody waits for it in vain; after an error the communicator is closed.
/// What is thrown where: Note [Errors of an operation] in channel.h.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "collectives/executor.h"
#include "collectives/meeting.h"
#include "collectives/names_in_flight.h"
#include "transport/transport.h"

namespace ronde::inline v0 {

struct Channel;

class QueuedCommunicator final : public Communicator {
 public:
  QueuedCommunicator(std::unique_ptr<Transport> transport, std::shared_ptr<Executor> executor);
  /// Waits for what is queued; the transport is closed where its calls are made. In the child of a fork it
  /// does nothing.
  ~QueuedCommunicator() override;

  int rank() const override { return place_.rank; }
  int world_rank(int rank) const override;
  int size() const override { return place_.size; }
  int local_rank() const override { return place_.local_rank; }
  int local_size() const override { return place_.local_size; }
  int cross_rank() const override { return place_.cross_rank; }
  int cross_size() const override { return place_.cross_size; }
  std::string name() const override { return name_; }
  std::string transport() const override { return description_; }

  Work start(Collective call) override;
  Work sequence(const std::string& call, std::function<void(Communicator&)> body) override;
  Tensor shared_tensor(const Shape& shape, TensorOptions options) override;
  std::unique_ptr<Communicator> split(int color, int key) override;
  bool conclude(const Ending& ending) override;
  void raise_notice(int level) override;
  int take_notice() override;
  std::shared_ptr<FlightRecorder> flight_recorder() override;

 private:
  /// The communicator of the parts of a sequence, which run at once; the transport is not its own.
  QueuedCommunicator(std::shared_ptr<Channel> channel, const Place& place, std::string name);
  /// A part of `parent`; `group` is its name for the recorder, `world` what its ranks are in the world.
  QueuedCommunicator(std::unique_ptr<Transport> transport, std::shared_ptr<Executor> executor,
                     const QueuedCommunicator& parent, const std::string& group, std::vector<int> world);
  /// A UsageError in the child of a fork, which shares memory and connections with the other ranks, too.
  void require_rank(const std::string& verb) const;
  template <class F>
  std::shared_ptr<Task> submit(F&& f);
  /// Has the ranks meet for `record`, make something, and meet again: an error of one rank is one of all.
  /// `make` may still run when this has thrown, so it owns what it uses.
  void make_together(const Record& record, std::function<void(Transport&)> make);

  OwnProcess process_;
  std::shared_ptr<Executor> parent_;  // of the communicator this was split from: owns what both stand on
  std::shared_ptr<Executor> executor_;
  std::shared_ptr<Channel> channel_;  // used by its operations only, one at a time
  Place place_;
  std::string name_, description_;
  NamesInFlight names_;
  std::string group_;
  int splits_ = 0;
  bool owns_transport_ = true;
};

}  // namespace ronde::inline v0
