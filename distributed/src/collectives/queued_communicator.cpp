#include "collectives/queued_communicator.h"

#include <algorithm>
#include <array>
#include <exception>
#include <numeric>

#include <ronde/core/backend.h>
#include <ronde/core/storage.h>

#include "collectives/channel.h"
#include "collectives/checks.h"
#include "watchdog/operation_label.h"

namespace ronde::inline v0 {
namespace {

constexpr double kUnwindPatience = 3.0;  // seconds
constexpr const char* kWorld = "world";  // the recorder's name of what was not split from anything

// What the ranks of this rank's part will be in the world, as those of `transport` are `world` there.
std::vector<int> members_of(Transport& transport, int color, int key, const std::vector<int>& world) {
  const std::array<int, 2> own{color, key};
  std::vector<std::array<int, 2>> all(world.size());
  transport.allgatherv(all.data(), own.data(), std::vector<std::int64_t>(world.size(), sizeof own));
  std::vector<std::pair<int, std::size_t>> members;
  for (std::size_t r = 0; r < all.size(); ++r)
    if (all[r][0] == color) members.emplace_back(all[r][1], r);
  std::sort(members.begin(), members.end());
  std::vector<int> ranks;
  for (const auto& [member_key, r] : members) ranks.push_back(world[r]);
  return ranks;
}

// Of what was not split from anything.
std::shared_ptr<Channel> make_channel(std::unique_ptr<Transport> transport) {
  std::vector<int> all(static_cast<std::size_t>(transport->place().size));
  std::iota(all.begin(), all.end(), 0);
  return std::make_shared<Channel>(std::move(transport), std::make_shared<FlightRecorder>(), kWorld,
                                   std::move(all));
}

}  // namespace

QueuedCommunicator::QueuedCommunicator(std::unique_ptr<Transport> transport,
                                       std::shared_ptr<Executor> executor)
    : executor_(std::move(executor)),
      channel_(make_channel(std::move(transport))),
      place_(channel_->transport->place()),
      name_(channel_->transport->name()),
      description_(channel_->transport->description()),
      group_(kWorld) {}

QueuedCommunicator::QueuedCommunicator(std::unique_ptr<Transport> transport,
                                       std::shared_ptr<Executor> executor, const QueuedCommunicator& parent,
                                       const std::string& group, std::vector<int> world)
    : parent_(parent.executor_),
      executor_(std::move(executor)),
      channel_(std::make_shared<Channel>(std::move(transport), parent.channel_->recorder, group,
                                         std::move(world))),
      place_(channel_->transport->place()),
      name_(channel_->transport->name()),
      description_(channel_->transport->description()),
      group_(group) {}

QueuedCommunicator::QueuedCommunicator(std::shared_ptr<Channel> channel, const Place& place, std::string name)
    : executor_(std::make_shared<CallerExecutor>()),
      channel_(std::move(channel)),
      place_(place),
      name_(std::move(name)),
      owns_transport_(false) {}

QueuedCommunicator::~QueuedCommunicator() {
  if (!owns_transport_) return;
  if (!process_.is_here()) {
    leak(std::move(channel_));
    return;
  }
  const auto closed = executor_->submit([channel = channel_] {
    channel->transport.reset();
    channel->flight.reset();
  });
  // While an error unwinds, other ranks may never come to what is queued here. Then the queue is left to
  // itself, so that the error gets to where the job is ended.
  if (std::uncaught_exceptions() > 0) {
    if (!closed->wait_for(kUnwindPatience)) executor_->abandon();
  } else {
    closed->wait();
  }
}

void QueuedCommunicator::require_rank(const std::string& verb) const {
  require<UsageError>(size() == 1 || process_.is_here(), '[', verb,
                      "] was called by a child made by fork(), which is no rank: its parent is");
}

// What `take_notice` can wait for.
template <class F>
std::shared_ptr<Task> QueuedCommunicator::submit(F&& f) {
  channel_->started.fetch_add(1);
  return executor_->submit([channel = channel_, f = std::forward<F>(f)] {
    const Channel::Finish finish{*channel};
    f(*channel);
  });
}

Work QueuedCommunicator::start(Collective call) {
  Record record{.verb = verb_of(call), .name = call.name};
  require_rank(record.verb);
  try {
    check(call, rank(), size());
    require<UsageError>(!names_.contains(call.name), '[', record.verb, "] '", call.name,
                        "' is in flight already: wait for it before using its name again");
    record.text = arguments_of(call);
  } catch (const Error& error) {
    // Brought to the meeting, so that the other ranks do not wait for a call that never comes.
    record = objection(std::move(record), rank(), error.what(), error.status());
  }
  const std::string name = record.kind == Record::Kind::call ? call.name : "";
  const auto task = submit(
      [record = std::move(record), call = std::move(call), tag = TraceTag::current(),
       label = OperationLabel::current()](Channel& channel) { channel.run(record, call, tag, label); });
  if (!name.empty()) names_.add(name, task);
  return Work(task);
}

Work QueuedCommunicator::sequence(const std::string& call, std::function<void(Communicator&)> body) {
  require_rank("sequence");
  return Work(submit([channel = channel_, place = place_, name = name_, call, body = std::move(body),
                      label = OperationLabel::current()](Channel&) {
    const OperationLabel labelled(label);  // of the parts
    channel->meet({.verb = "sequence", .text = call});
    QueuedCommunicator parts(channel, place, name);
    try {
      body(parts);
    } catch (const CollectiveError&) {
      throw;  // on all ranks
    } catch (const std::exception& error) {
      // The others wait for this rank in the next part.
      channel->meet({.kind = Record::Kind::failure,
                     .rank = place.rank,
                     .status = static_cast<std::int32_t>(ExitStatus::failure),
                     .text = error.what()});
    }
  }));
}

void QueuedCommunicator::make_together(const Record& record, std::function<void(Transport&)> make) {
  require_rank(record.verb);
  executor_
      ->submit([channel = channel_, record, make = std::move(make)] {
        channel->meet(record);
        std::string error;
        try {
          make(*channel->transport);
        } catch (const CollectiveError&) {
          throw;  // of all ranks
        } catch (const std::exception& failure) {
          error = cat('[', record.verb, "] ", failure.what());
        }
        channel->meet(error.empty() ? record : channel->own_objection(record, error));
      })
      ->wait();
}

Tensor QueuedCommunicator::shared_tensor(const Shape& shape, TensorOptions options) {
  Backend& backend = options.backend ? *options.backend : default_backend();
  const std::int64_t bytes = shape.count() * static_cast<std::int64_t>(size_of(options.dtype));
  const bool is_on_host = backend.device().type == DeviceType::cpu;
  const Record record{.verb = "shared_tensor",
                      .text = cat(options.dtype, ' ', shape, is_on_host ? "" : " on a GPU")};
  struct Made {
    std::shared_ptr<void> memory;
    Tensor own;
  };
  const auto made = std::make_shared<Made>();
  make_together(record, [=](Transport& transport) {
    if (bytes > 0 && is_on_host) made->memory = transport.share(bytes);
    if (!made->memory) made->own = Tensor::zeros(shape, options);
  });
  if (!made->memory) return made->own;
  std::shared_ptr<void> memory = std::move(made->memory);
  void* data = memory.get();
  return Tensor::over(
      std::make_shared<Storage>(backend, data, static_cast<std::size_t>(bytes), std::move(memory)), shape,
      options.dtype);
}

std::unique_ptr<Communicator> QueuedCommunicator::split(int color, int key) {
  struct Made {
    std::vector<int> world;
    std::unique_ptr<Transport> part;
  };
  const auto made = std::make_shared<Made>();
  make_together({.verb = "split"}, [=, &world = channel_->world](Transport& transport) {
    made->world = members_of(transport, color, key, world);
    made->part = transport.split(color, key);
  });
  std::unique_ptr<Transport> part = std::move(made->part);
  // Counted once it was made: ranks that called something else than the others go on with the same names.
  const std::string group = cat(group_, '/', ++splits_, '.', color);
  if (!part) return nullptr;
  std::shared_ptr<Executor> executor = executor_;
  if (part->is_independent()) executor = std::make_shared<WorkerThread>();
  return std::unique_ptr<Communicator>(
      new QueuedCommunicator(std::move(part), std::move(executor), *this, group, std::move(made->world)));
}

int QueuedCommunicator::world_rank(int rank) const {
  return channel_->world[static_cast<std::size_t>(rank)];
}

std::shared_ptr<FlightRecorder> QueuedCommunicator::flight_recorder() {
  return channel_->recorder;
}

void QueuedCommunicator::raise_notice(int level) {
  std::int64_t known = channel_->notice.load();
  while (known < level && !channel_->notice.compare_exchange_weak(known, level)) {
  }
}

int QueuedCommunicator::take_notice() {
  if (size() == 1) return static_cast<int>(channel_->notice.exchange(0));
  if (channel_->finished.load() != channel_->started.load()) executor_->submit([] {})->wait();
  return static_cast<int>(channel_->told.exchange(0));
}

bool QueuedCommunicator::conclude(const Ending& ending) {
  require_rank("conclude");
  Record record{.kind = Record::Kind::done};
  // An error of another group, of threads perhaps, may name a rank that is none here.
  const bool is_of_these = ending.rank >= 0 && ending.rank < size();
  if (ending.status != ExitStatus::ok) {
    record = {.kind = ending.follows ? Record::Kind::follower : Record::Kind::failure,
              .rank = is_of_these ? ending.rank : rank(),
              .status = static_cast<std::int32_t>(ending.status),
              .text = ending.message};
  }
  const auto task = executor_->submit([channel = channel_, record] { channel->meet(record); });
  if (ending.patience >= 0.0 && !task->wait_for(ending.patience)) return false;
  task->wait();
  return true;
}

}  // namespace ronde::inline v0
