/// Transport: what a kind of communicator must be able to do; blocking, on raw memory. `QueuedCommunicator`
/// makes a Communicator of it: it checks arguments, compares calls between ranks and queues operations.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

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

class Transport {
 public:
  virtual ~Transport() = default;
  virtual std::string name() const = 0;
  virtual Place place() const = 0;

  /// Waits, without using the processor, until all ranks are here. Whether all gave the same number.
  virtual bool meet(std::int64_t number) = 0;

  // Called only after `meet` said yes, so that all ranks are awake and pass the same arguments.
  virtual void allreduce(void* data, std::int64_t count, DType dtype, Reduction op) = 0;
  virtual void broadcast(void* data, std::int64_t bytes, int root) = 0;
  /// Rank r contributes bytes[r] bytes; they lie one after the other in `out`.
  virtual void allgatherv(void* out, const void* in, const std::vector<std::int64_t>& bytes) = 0;
  /// `in` holds `count` elements for each rank.
  virtual void reduce_scatter(void* out, const void* in, std::int64_t count, DType dtype, Reduction op) = 0;
  virtual void alltoall(void* out, const void* in, std::int64_t bytes) = 0;
  /// nullptr for a negative color.
  virtual std::unique_ptr<Transport> split(int color, int key) = 0;
};

}  // namespace ronde::inline v0
