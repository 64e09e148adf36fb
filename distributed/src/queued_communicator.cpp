#include "queued_communicator.h"

#include <exception>
#include <optional>

#include "checks.h"

namespace ronde::inline v0 {
namespace {

constexpr double kUnwindPatience = 3.0;  // seconds

// FNV-1a.
std::int64_t hash_of(const std::string& text) {
  std::uint64_t hash = 14695981039346656037u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return static_cast<std::int64_t>(hash);
}

// What a rank brings to a meeting: a call, or an error that ended its part.
struct Record {
  std::int32_t status = 0;  // of an error
  std::int32_t rank = 0;    // where the error happened
  std::string text;         // the call or the error's message

  bool is_error() const { return status != 0; }
  std::string pack() const { return cat(status, ' ', rank, ' ', text); }
  static Record unpack(const std::string& packed);
};

Record Record::unpack(const std::string& packed) {
  const std::size_t first = packed.find(' ');
  const std::size_t second = packed.find(' ', first + 1);
  return {std::stoi(packed), std::stoi(packed.substr(first + 1)), packed.substr(second + 1)};
}

std::vector<Record> gather(Transport& transport, const Record& own) {
  const std::string packed = own.pack();
  const auto size = static_cast<std::size_t>(transport.place().size);
  const auto length = static_cast<std::int64_t>(packed.size());
  std::vector<std::int64_t> lengths(size);
  transport.allgatherv(lengths.data(), &length, std::vector<std::int64_t>(size, sizeof length));
  std::size_t total = 0;
  for (const std::int64_t l : lengths) total += static_cast<std::size_t>(l);
  std::string all(total, '\0');
  transport.allgatherv(all.data(), packed.data(), lengths);
  std::vector<Record> records;
  std::size_t begin = 0;
  for (const std::int64_t l : lengths) {
    records.push_back(Record::unpack(all.substr(begin, static_cast<std::size_t>(l))));
    begin += static_cast<std::size_t>(l);
  }
  return records;
}

// The error of the lowest failing rank, if any.
std::optional<CollectiveError> failure_in(const std::vector<Record>& records) {
  const Record* first = nullptr;
  for (const Record& record : records) {
    if (record.is_error() && (!first || record.rank < first->rank)) first = &record;
  }
  if (!first) return std::nullopt;
  return CollectiveError(first->text, static_cast<ExitStatus>(first->status), first->rank);
}

CollectiveError disagreement_in(const std::vector<Record>& records) {
  std::size_t other = 1;
  while (other + 1 < records.size() && records[other].text == records[0].text) ++other;
  return CollectiveError(cat("[distributed] ranks disagree: rank 0 calls ", records[0].text, ", rank ", other,
                             " calls ", records[other].text),
                         ExitStatus::failure, static_cast<int>(other));
}

}  // namespace

struct QueuedCommunicator::Channel {
  std::unique_ptr<Transport> transport;
  std::optional<CollectiveError> closed;  // why no operation can run any more

  // See Note [Meeting].
  void meet(const Record& record) {
    if (closed) throw *closed;
    if (transport->meet(hash_of(record.pack()))) return;
    const std::vector<Record> records = gather(*transport, record);
    closed = failure_in(records);
    if (closed) throw *closed;
    throw disagreement_in(records);
  }
};

QueuedCommunicator::QueuedCommunicator(std::unique_ptr<Transport> transport,
                                       std::shared_ptr<Executor> executor)
    : executor_(std::move(executor)),
      channel_(std::make_shared<Channel>()),
      place_(transport->place()),
      name_(transport->name()) {
  channel_->transport = std::move(transport);
}

QueuedCommunicator::~QueuedCommunicator() {
  const auto closed = executor_->submit([channel = channel_] { channel->transport.reset(); });
  // While an error unwinds, other ranks may never come to what is queued here. Then the queue is left to
  // itself, so that the error gets to where the job is ended.
  if (std::uncaught_exceptions() > 0) {
    closed->wait_for(kUnwindPatience);
  } else {
    closed->wait();
  }
}

template <class F>
Work QueuedCommunicator::start(std::string call, F&& operation) {
  return Work(executor_->submit(
      [channel = channel_, record = Record{.text = std::move(call)}, operation = std::forward<F>(operation)] {
        channel->meet(record);
        operation(*channel->transport);
      }));
}

Work QueuedCommunicator::allreduce(const Tensor& data, Reduction op) {
  return start(check_allreduce(data, op), [data, op](Transport& transport) {
    transport.allreduce(data.raw(), data.count(), data.dtype(), op);
  });
}

Work QueuedCommunicator::broadcast(const Tensor& data, int root) {
  return start(check_broadcast(data, root, size()), [data, root](Transport& transport) {
    transport.broadcast(data.raw(), static_cast<std::int64_t>(data.byte_size()), root);
  });
}

Work QueuedCommunicator::allgather(const Tensor& out, const Tensor& in) {
  return start(check_allgather(out, in, size()), [out, in, n = size()](Transport& transport) {
    const auto bytes = static_cast<std::int64_t>(in.byte_size());
    transport.allgatherv(out.raw(), in.raw(), std::vector<std::int64_t>(static_cast<std::size_t>(n), bytes));
  });
}

Work QueuedCommunicator::allgatherv(const Tensor& out, const Tensor& in,
                                    const std::vector<std::int64_t>& counts) {
  std::vector<std::int64_t> bytes = counts;
  std::string call = check_allgatherv(out, in, counts, rank(), size());
  for (std::int64_t& b : bytes) b *= row_bytes(in);
  return start(std::move(call), [out, in, bytes = std::move(bytes)](Transport& transport) {
    transport.allgatherv(out.raw(), in.raw(), bytes);
  });
}

Work QueuedCommunicator::reduce_scatter(const Tensor& out, const Tensor& in, Reduction op) {
  return start(check_reduce_scatter(out, in, op, size()), [out, in, op](Transport& transport) {
    transport.reduce_scatter(out.raw(), in.raw(), out.count(), out.dtype(), op);
  });
}

Work QueuedCommunicator::alltoall(const Tensor& out, const Tensor& in) {
  return start(check_alltoall(out, in, size()), [out, in, n = size()](Transport& transport) {
    transport.alltoall(out.raw(), in.raw(), static_cast<std::int64_t>(in.byte_size()) / n);
  });
}

Work QueuedCommunicator::barrier() {
  return start("barrier()", [](Transport&) {});
}

std::unique_ptr<Communicator> QueuedCommunicator::split(int color, int key) {
  std::unique_ptr<Transport> part;
  start("split()", [&](Transport& transport) { part = transport.split(color, key); }).wait();
  if (!part) return nullptr;
  return std::make_unique<QueuedCommunicator>(std::move(part), executor_);
}

bool QueuedCommunicator::conclude(const Ending& ending) {
  Record record{
      .status = static_cast<std::int32_t>(ending.status), .rank = ending.rank, .text = ending.message};
  if (!record.is_error()) record.text = "nothing more (it is done)";
  if (record.rank < 0) record.rank = record.is_error() ? rank() : 0;
  const auto task = executor_->submit([channel = channel_, record] {
    channel->meet(record);
    if (record.is_error()) {
      // All ranks came with this very error, so nobody could tell it from a call.
      channel->closed = CollectiveError(record.text, static_cast<ExitStatus>(record.status), record.rank);
      throw *channel->closed;
    }
  });
  if (ending.patience >= 0.0 && !task->wait_for(ending.patience)) return false;
  task->wait();
  return true;
}

}  // namespace ronde::inline v0
