/// Communicator: a group of ranks that call the same collectives in the same order.
///
///     world.allreduce(tensor, Reduction::average).wait();
///     world.allreduce(loss, {.op = Reduction::average, .name = "loss"}).wait();
///     const Tensor all = world.allgather(rows_of_this_rank).wait();
///
/// An object, never a singleton: of one rank, whose collectives are the identity (self_communicator.h), of
/// threads of one process (thread_communicator.h), of processes by MPI or TCP (mpi_communicator.h,
/// tcp_communicator.h), of GPUs by NCCL (nccl_communicator.h). Every collective starts the operation and
/// returns a `Work`; operations of one communicator run in the order in which they were started. Tensors are
/// contiguous, of all dtypes, and in host memory, but for NCCL's, which are on the rank's GPU. Plain vectors:
/// values.h; other C++ values: objects.h. Thread safety: one thread at a time per rank.
///
/// Before data moves, the ranks compare what they call. Another collective, shape, dtype, reduction, scale,
/// root or name on some rank, or arguments that are wrong on one rank alone, are a CollectiveError that
/// `wait` throws on every rank; it shows all calls and their ranks, and the communicator stays usable.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ronde/core/tensor.h>
#include <ronde/distributed/collective.h>
#include <ronde/distributed/work.h>

namespace ronde::inline v0 {

class FlightRecorder;

/// How a rank ends its part.
struct Ending {
  ExitStatus status = ExitStatus::ok;
  std::string message = {};  ///< of the error, unless ok
  int rank = -1;             ///< where the error happened; -1, or none of the ranks: here
  double patience = -1.0;    ///< seconds to wait for the other ranks; negative: for ever
  bool follows = false;      ///< it only says that another rank has gone: that one's own error comes first
};

class RONDE_API Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  /// What one of the ranks here is in the communicator that this one was split from first of all.
  virtual int world_rank(int rank) const { return rank; }
  virtual int size() const = 0;
  /// Among the ranks on this node.
  virtual int local_rank() const = 0;
  virtual int local_size() const = 0;
  /// This node's number, and the number of nodes.
  virtual int cross_rank() const = 0;
  virtual int cross_size() const = 0;
  /// "self", "thread", "mpi", "tcp" or "nccl"
  virtual std::string name() const = 0;

  /// In place; the same result, bit for bit, on all ranks.
  Work allreduce(const Tensor& data, Reduction op = Reduction::sum);
  Work allreduce(const Tensor& data, const AllreduceOptions& options);
  /// Several tensors, dtypes may differ, in one operation: all or none of them, with one meeting of the
  /// ranks. Each gets the bits that `allreduce` gives. No two of them may share memory.
  Work grouped_allreduce(const std::vector<Tensor>& tensors, const AllreduceOptions& options = {});
  /// In place; everybody gets root's values.
  Work broadcast(const Tensor& data, int root = 0, const std::string& name = {});
  /// out (size * n, ...) = the ranks' `in` (n, ...), in rank order; equal n on all ranks. `in` may be this
  /// rank's slice of `out`.
  Work allgather(const Tensor& out, const Tensor& in, const std::string& name = {});
  /// out (sum of counts, ...): rank r contributes counts[r] rows.
  Work allgatherv(const Tensor& out, const Tensor& in, const std::vector<std::int64_t>& counts,
                  const std::string& name = {});
  /// All ranks' rows, each of which may give another number of them.
  Pending<Tensor> allgather(const Tensor& in, const std::string& name = {});
  /// out (n, ...) = this rank's slice of the reduction of all `in` (size * n, ...), in which it may lie.
  Work reduce_scatter(const Tensor& out, const Tensor& in, Reduction op = Reduction::sum);
  Work reduce_scatter(const Tensor& out, const Tensor& in, const AllreduceOptions& options);
  /// The same for any number of rows: the first rows % size ranks get one more than the others.
  Pending<Tensor> reduce_scatter(const Tensor& in, const AllreduceOptions& options = {});
  /// Rank s's slice r of `in` becomes rank r's slice s of `out`; both (size * n, ...).
  Work alltoall(const Tensor& out, const Tensor& in, const std::string& name = {});
  /// splits[r] rows of `in` go to rank r, in order; gives the rows that came, and how many from which rank.
  Pending<ReceivedRows> alltoall(const Tensor& in, const std::vector<std::int64_t>& splits,
                                 const std::string& name = {});
  Work barrier(const std::string& name = {});

  /// What all of these come to. A communicator that wraps another one overrides this.
  virtual Work start(Collective call) = 0;
  /// Several collectives as one operation: `body` runs once, where and when the operations of this
  /// communicator run, and waits for collectives of the communicator that it is given. The ranks compare
  /// `call`. By default it runs here and now, with this communicator.
  virtual Work sequence(const std::string& call, std::function<void(Communicator&)> body);

  /// Zeros, in memory that the collectives of this communicator read straight from each other's ranks where
  /// these share a node; an ordinary tensor elsewhere. For buffers that are reduced again and again.
  /// Collective: all ranks ask for the same shape and dtype.
  virtual Tensor shared_tensor(const Shape& shape, TensorOptions options = {});
  /// How data travels, for people to read: "shared memory, 2 ranks", "MPI, 4 ranks".
  virtual std::string transport() const { return name(); }

  /// Ranks of equal color form a new communicator, ordered by key, then rank. Collective; a negative color
  /// gets nullptr. Both may be used at the same time; see ProcessSet for groups by lists of ranks.
  virtual std::unique_ptr<Communicator> split(int color, int key) = 0;

  /// Says that this rank starts no more collectives, because all is done or because it failed. When some rank
  /// failed, the calls in which the others wait, now or next, throw its error as a CollectiveError, and so
  /// does this call. False when the others did not get here in time. `run_main` calls it.
  virtual bool conclude(const Ending& ending) = 0;

  /// News for all ranks, a level of which the highest counts: it travels with whatever the ranks do next
  /// here, so it costs nothing. `take_notice` gives the highest that travelled since it was called last, else
  /// 0: the same on all ranks that have started equally many operations. It waits for those.
  virtual void raise_notice([[maybe_unused]] int level) {}
  virtual int take_notice() { return 0; }

  /// Where this rank's operations are recorded, for its watchdog (watchdog.h); nullptr: nowhere.
  virtual std::shared_ptr<FlightRecorder> flight_recorder() { return nullptr; }
};

/// Strings of all ranks, in rank order. Collective.
RONDE_API std::vector<std::string> allgather_strings(Communicator& communicator, const std::string& text);
/// Root's string. Collective.
RONDE_API std::string broadcast_string(Communicator& communicator, const std::string& text, int root = 0);

/// In place over a host vector; collective.
RONDE_API void allreduce_values(Communicator& communicator, std::vector<double>& values,
                                Reduction op = Reduction::sum);

/// An error that every rank of the group throws with the same text, so that one of them may report it for
/// all.
class RONDE_API CollectiveError : public Error {
 public:
  CollectiveError(const std::string& message, ExitStatus status, int rank)
      : CollectiveError(message, status, rank, rank) {}
  /// Of one of the ranks of `communicator`, all of which throw it.
  CollectiveError(const std::string& message, ExitStatus status, const Communicator& communicator, int rank)
      : CollectiveError(message, status, rank, communicator.world_rank(rank)) {}
  CollectiveError(const std::string& message, ExitStatus status, int rank, int world_rank)
      : Error(message, status), rank_(rank), world_rank_(world_rank) {}
  /// The rank where it happened; the lowest of them.
  int rank() const { return rank_; }
  /// The same one, as `Communicator::world_rank` has it, and as messages have it.
  int world_rank() const { return world_rank_; }

 private:
  int rank_, world_rank_;
};

/// Throws on all ranks the CollectiveError of the lowest rank whose status is not ok, if any. Collective.
RONDE_API void agree(Communicator& communicator, const std::string& message, ExitStatus status);

/// Runs `f` on every rank; when it throws anywhere, all ranks throw a CollectiveError with the message of the
/// lowest failing rank. Collective: `f` must not call collectives of this communicator that other ranks do
/// not reach.
template <class F>
void collectively(Communicator& communicator, F&& f) {
  std::string message;
  ExitStatus status = ExitStatus::ok;
  try {
    f();
  } catch (const Error& error) {
    message = error.what();
    status = error.status();
  } catch (const std::exception& error) {
    message = explanation(error);
    status = ExitStatus::failure;
  }
  agree(communicator, message, status);
}

}  // namespace ronde::inline v0
