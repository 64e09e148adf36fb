/// Communicator: a group of ranks that call the same collectives in the same order.
///
/// An object, never a singleton: `SelfCommunicator` (one rank; every collective is the identity),
/// `ThreadCommunicator` (ranks are threads of one process) and `MpiCommunicator`. Every collective starts the
/// operation and returns a `Work`; operations of one communicator run in the order in which they were
/// started. Tensors are contiguous and in host memory; all dtypes. Thread safety: one thread at a time per
/// rank.
///
/// Before data moves, the ranks compare what they call: another collective, shape, dtype, reduction or root
/// on some rank is a CollectiveError on every rank that shows both calls, and the communicator stays usable.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ronde/core/tensor.h>
#include <ronde/distributed/work.h>

namespace ronde::inline v0 {

/// How values of several ranks become one. `average` divides by the number of ranks; floating dtypes only.
enum class Reduction { sum, average, min, max, product };

/// How a rank ends its part.
struct Ending {
  ExitStatus status = ExitStatus::ok;
  std::string message = {};  ///< of the error, unless ok
  int rank = -1;             ///< where the error happened; -1: here
  double patience = -1.0;    ///< seconds to wait for the other ranks; negative: for ever
};

class RONDE_API Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Among the ranks on this node.
  virtual int local_rank() const = 0;
  virtual int local_size() const = 0;
  /// This node's number, and the number of nodes.
  virtual int cross_rank() const = 0;
  virtual int cross_size() const = 0;
  /// "self", "thread", "mpi"
  virtual std::string name() const = 0;

  /// In place; the same result, bit for bit, on all ranks.
  virtual Work allreduce(const Tensor& data, Reduction op = Reduction::sum) = 0;
  /// In place; everybody gets root's values.
  virtual Work broadcast(const Tensor& data, int root = 0) = 0;
  /// out (size * n, ...) = the ranks' `in` (n, ...), in rank order; equal n on all ranks.
  virtual Work allgather(const Tensor& out, const Tensor& in) = 0;
  /// out (sum of counts, ...): rank r contributes counts[r] rows.
  virtual Work allgatherv(const Tensor& out, const Tensor& in, const std::vector<std::int64_t>& counts) = 0;
  /// out (n, ...) = this rank's slice of the reduction of all `in` (size * n, ...).
  virtual Work reduce_scatter(const Tensor& out, const Tensor& in, Reduction op = Reduction::sum) = 0;
  /// Rank s's slice r of `in` becomes rank r's slice s of `out`; both (size * n, ...).
  virtual Work alltoall(const Tensor& out, const Tensor& in) = 0;
  virtual Work barrier() = 0;

  /// Ranks of equal color form a new communicator, ordered by key, then rank. Collective; a negative color
  /// gets nullptr.
  virtual std::unique_ptr<Communicator> split(int color, int key) = 0;

  /// Says that this rank starts no more collectives, because all is done or because it failed. When some rank
  /// failed, the calls in which the others wait, now or next, throw its error as a CollectiveError, and so
  /// does this call. False when the others did not get here in time. `run_main` calls it.
  virtual bool conclude(const Ending& ending) = 0;
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
      : Error(message, status), rank_(rank) {}
  /// The rank where it happened; the lowest of them.
  int rank() const { return rank_; }

 private:
  int rank_;
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
    message = error.what();
    status = ExitStatus::failure;
  }
  agree(communicator, message, status);
}

}  // namespace ronde::inline v0
