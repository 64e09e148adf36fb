#include "queued_communicator.h"

#include <exception>
#include <optional>

#include <ronde/core/backend.h>
#include <ronde/core/storage.h>

#include "checks.h"
#include "meeting.h"
#include "run_collective.h"
#include "timeline/traced_collective.h"

namespace ronde::inline v0 {
namespace {

constexpr double kUnwindPatience = 3.0;  // seconds

// FNV-1a.
std::int64_t hash_of(const std::string& text) {
  std::uint64_t hash = 14695981039346656037u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return static_cast<std::int64_t>(hash);
}

// Carries the rank, so that the objections of two ranks are never taken for agreement.
Record objection(Record record, int rank, const std::string& text, ExitStatus status) {
  record.kind = Record::Kind::objection;
  record.rank = rank;
  record.status = static_cast<std::int32_t>(status);
  record.text = text;
  return record;
}

}  // namespace

struct QueuedCommunicator::Channel {
  std::unique_ptr<Transport> transport;
  std::optional<CollectiveError> closed;  // why no operation can run any more

  // See Note [Meeting].
  void meet(const Record& record) {
    if (closed) throw *closed;
    const TraceScope waiting("meeting", "wait for ranks");
    const bool is_agreed = transport->meet(hash_of(record.pack()));
    if (is_agreed && (record.kind == Record::Kind::call || record.kind == Record::Kind::done)) return;
    const std::vector<Record> records = exchange(*transport, record);
    if (const Record* failure = failure_in(records)) {
      closed = CollectiveError(failure->text, static_cast<ExitStatus>(failure->status), failure->rank);
      throw *closed;
    }
    throw disagreement_in(records);
  }

  void run(const Record& record, const Collective& call, const TraceArgument& tag) {
    const TraceScope scope("communication", traced_name(call), {"bytes", traced_bytes(call)}, tag);
    meet(record);
    const TraceScope moving("transfer", "move data");
    run_collective(call, *transport, [&](const std::string& error) {
      meet(error.empty() ? record : objection(record, transport->place().rank, error, ExitStatus::failure));
    });
  }
};

QueuedCommunicator::QueuedCommunicator(std::unique_ptr<Transport> transport,
                                       std::shared_ptr<Executor> executor)
    : QueuedCommunicator(std::move(transport), std::move(executor), nullptr) {}

QueuedCommunicator::QueuedCommunicator(std::unique_ptr<Transport> transport,
                                       std::shared_ptr<Executor> executor, std::shared_ptr<Executor> parent)
    : parent_(std::move(parent)),
      executor_(std::move(executor)),
      channel_(std::make_shared<Channel>()),
      place_(transport->place()),
      name_(transport->name()),
      description_(transport->description()) {
  channel_->transport = std::move(transport);
}

QueuedCommunicator::QueuedCommunicator(std::shared_ptr<Channel> channel, const Place& place, std::string name)
    : executor_(std::make_shared<CallerExecutor>()),
      channel_(std::move(channel)),
      place_(place),
      name_(std::move(name)),
      owns_transport_(false) {}

QueuedCommunicator::~QueuedCommunicator() {
  if (!owns_transport_) return;
  const auto closed = executor_->submit([channel = channel_] { channel->transport.reset(); });
  // While an error unwinds, other ranks may never come to what is queued here. Then the queue is left to
  // itself, so that the error gets to where the job is ended.
  if (std::uncaught_exceptions() > 0) {
    closed->wait_for(kUnwindPatience);
  } else {
    closed->wait();
  }
}

Work QueuedCommunicator::start(Collective call) {
  Record record{.verb = verb_of(call), .name = call.name};
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
  const auto task = executor_->submit([channel = channel_, record = std::move(record), call = std::move(call),
                                       tag = TraceTag::current()] { channel->run(record, call, tag); });
  if (!name.empty()) names_.add(name, task);
  return Work(task);
}

Work QueuedCommunicator::sequence(const std::string& call, std::function<void(Communicator&)> body) {
  return Work(
      executor_->submit([channel = channel_, place = place_, name = name_, call, body = std::move(body)] {
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

Tensor QueuedCommunicator::shared_tensor(const Shape& shape, TensorOptions options) {
  Backend& backend = options.backend ? *options.backend : default_backend();
  const std::int64_t bytes = shape.count() * static_cast<std::int64_t>(size_of(options.dtype));
  std::shared_ptr<void> memory;
  executor_
      ->submit([&] {
        channel_->meet({.verb = "shared_tensor", .text = cat(options.dtype, ' ', shape)});
        if (bytes > 0 && backend.device().type == DeviceType::cpu) memory = channel_->transport->share(bytes);
      })
      ->wait();
  if (!memory) return Tensor::zeros(shape, options);
  void* data = memory.get();
  return Tensor::over(
      std::make_shared<Storage>(backend, data, static_cast<std::size_t>(bytes), std::move(memory)), shape,
      options.dtype);
}

std::unique_ptr<Communicator> QueuedCommunicator::split(int color, int key) {
  std::unique_ptr<Transport> part;
  executor_
      ->submit([&] {
        channel_->meet({.verb = "split"});
        part = channel_->transport->split(color, key);
      })
      ->wait();
  if (!part) return nullptr;
  std::shared_ptr<Executor> executor = executor_;
  if (part->is_independent()) executor = std::make_shared<WorkerThread>();
  return std::unique_ptr<Communicator>(
      new QueuedCommunicator(std::move(part), std::move(executor), executor_));
}

bool QueuedCommunicator::conclude(const Ending& ending) {
  Record record{.kind = Record::Kind::done};
  if (ending.status != ExitStatus::ok) {
    record = {.kind = Record::Kind::failure,
              .rank = ending.rank < 0 ? rank() : ending.rank,
              .status = static_cast<std::int32_t>(ending.status),
              .text = ending.message};
  }
  const auto task = executor_->submit([channel = channel_, record] { channel->meet(record); });
  if (ending.patience >= 0.0 && !task->wait_for(ending.patience)) return false;
  task->wait();
  return true;
}

}  // namespace ronde::inline v0
