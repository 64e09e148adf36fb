/// Transport: what a kind of communicator must be able to do; blocking, on raw memory. `QueuedCommunicator`
/// makes a Communicator of it: it checks arguments, compares calls between ranks and queues operations.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ronde/core/counted.h>
#include <ronde/core/dtype.h>
#include <ronde/distributed/communicator.h>

namespace ronde::inline v0 {

/// Where a rank is.
struct Place {
  int rank = 0;
  int size = 1;
  int local_rank = 0;
  int local_size = 1;
  int cross_rank = 0;
  int cross_size = 1;
};

/// What all ranks do after a meeting if they agree. A transport may begin with it while they meet, so `in`
/// holds what it is to hold by then.
struct Announcement {
  const void* in = nullptr;  ///< of the call that follows
  const void* out = nullptr;
  std::int64_t count = 0;  ///< elements of an all-reduce in place; 0: it is something else
  DType dtype = DType::f32;
  Reduction op = Reduction::sum;
};

/// A reduction, as far as the memory goes that it takes.
struct ReductionSize {
  std::int64_t count = 0;  ///< elements that each rank gives; 0: there is none
  std::int64_t part = 0;   ///< the most that a rank gets of a result that is scattered, or has to add up
  DType dtype = DType::f32;
  bool is_scattered = false;
  bool is_in_place = false;  ///< a scattered one: its part lies in what the rank gives
};

class Transport {
 public:
  virtual ~Transport() = default;
  virtual std::string name() const = 0;
  virtual Place place() const = 0;
  /// For people to read.
  virtual std::string description() const { return cat(name(), ", ", counted(place().size, "rank"), note_); }
  /// Adds to the description.
  void add_note(const std::string& note) { note_ = cat(" (", note, ')'); }

  /// Waits, without using the processor, until all ranks are here. Whether all gave the same number. `notice`
  /// becomes the largest that a rank gave, whatever the numbers were.
  virtual bool meet(std::int64_t number, std::int64_t& notice, const Announcement& next) = 0;
  bool meet(std::int64_t number) {
    std::int64_t notice = 0;
    return meet(number, notice, {});
  }

  /// Whether this and the transports split from it may be used at the same time, by one thread each. If not,
  /// they share a thread, and ranks must start operations of all of them in the same order.
  virtual bool is_independent() const { return false; }

  /// Gets the memory that such a reduction takes beside its tensors, and lets go of what it got for the one
  /// before. Called before the ranks meet: a rank that has not so much memory can then still say so, instead
  /// of leaving the others alone in the middle of it.
  virtual void reserve(const ReductionSize&) {}

  // Called only after `meet` said yes, so that all ranks are awake and pass the same arguments. Buffers of no
  // bytes may be null; out and in do not overlap, but where a rank's part may lie in its place.
  virtual void allreduce(void* data, std::int64_t count, DType dtype, Reduction op) = 0;
  virtual void broadcast(void* data, std::int64_t bytes, int root) = 0;
  /// Rank r contributes bytes[r] bytes; they lie one after the other in `out`. `in` may be its place in
  /// `out`.
  virtual void allgatherv(void* out, const void* in, const std::vector<std::int64_t>& bytes) = 0;
  /// `in` holds counts[r] elements for each rank r, one after the other. `out` may be this rank's place in
  /// `in`; the others' places stay as they are.
  virtual void reduce_scatter(void* out, const void* in, const std::vector<std::int64_t>& counts, DType dtype,
                              Reduction op) = 0;
  /// `in` holds in_bytes[r] bytes for each rank r, `out` gets out_bytes[r] bytes from it.
  virtual void alltoallv(void* out, const std::vector<std::int64_t>& out_bytes, const void* in,
                         const std::vector<std::int64_t>& in_bytes) = 0;
  /// Zeroed memory that the collectives read straight from the other ranks, for as long as somebody keeps it;
  /// nullptr, on all ranks alike, where there is none. All ranks ask for as much.
  virtual std::shared_ptr<void> share([[maybe_unused]] std::int64_t bytes) { return nullptr; }
  /// nullptr for a negative color.
  virtual std::unique_ptr<Transport> split(int color, int key) = 0;

 private:
  std::string note_;
};

}  // namespace ronde::inline v0
