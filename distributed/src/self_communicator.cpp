#include <ronde/distributed/self_communicator.h>

#include <cstring>

#include "collectives/queued_communicator.h"
#include "transport/memory_copy.h"

namespace ronde::inline v0 {
namespace {

class SelfTransport final : public Transport {
 public:
  std::string name() const override { return "self"; }
  Place place() const override { return {}; }
  bool meet(std::int64_t, std::int64_t&, const Announcement&) override { return true; }
  void allreduce(void*, std::int64_t, DType, Reduction) override {}
  void broadcast(void*, std::int64_t, int) override {}
  void allgatherv(void* out, const void* in, const std::vector<std::int64_t>& bytes) override {
    copy_bytes(out, in, bytes[0]);
  }
  void reduce_scatter(void* out, const void* in, const std::vector<std::int64_t>& counts, DType dtype,
                      Reduction) override {
    copy_bytes(out, in, counts[0] * static_cast<std::int64_t>(size_of(dtype)));
  }
  void alltoallv(void* out, const std::vector<std::int64_t>&, const void* in,
                 const std::vector<std::int64_t>& in_bytes) override {
    copy_bytes(out, in, in_bytes[0]);
  }
  std::unique_ptr<Transport> split(int color, int) override {
    return color < 0 ? nullptr : std::make_unique<SelfTransport>();
  }
};

}  // namespace

SelfCommunicator::SelfCommunicator()
    : queue_(std::make_unique<QueuedCommunicator>(std::make_unique<SelfTransport>(),
                                                  std::make_shared<CallerExecutor>())) {}

SelfCommunicator::~SelfCommunicator() = default;

Work SelfCommunicator::start(Collective call) {
  return queue_->start(std::move(call));
}

std::unique_ptr<Communicator> SelfCommunicator::split(int color, int) {
  return color < 0 ? nullptr : std::make_unique<SelfCommunicator>();
}

bool SelfCommunicator::conclude(const Ending&) {
  return true;
}

}  // namespace ronde::inline v0
