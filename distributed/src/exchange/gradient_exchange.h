/// GradientExchange: how the ranks' gradients of one bucket become the same values on all of them.
///
/// `GradientBuckets` says when a bucket leaves; what then happens is one operation of the communicator, a
/// sequence of blocking collectives with arithmetic in between, beside the backward pass. Its result is the
/// same on all ranks, bit for bit. Memory between steps is touched by these operations only, one at a time,
/// or by the caller while none is under way.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include <ronde/distributed/distributed_options.h>
#include <ronde/distributed/gradient_buckets.h>

#include "exchange/wire.h"

namespace ronde::inline v0 {

/// What is known of a step before its gradients are.
struct StepOutlook {
  std::int64_t updates = 0;  ///< made before
  double samples = 0.0;      ///< of this rank; 0: none, or not known
  bool knows_samples = false;
  double total_samples = 0.0;  ///< of all ranks; 0: as in the step before
};

class GradientExchange : public std::enable_shared_from_this<GradientExchange> {
 public:
  GradientExchange(ParameterArena& arena, Communicator& communicator, BucketOptions options);
  virtual ~GradientExchange() = default;
  GradientExchange(const GradientExchange&) = delete;
  GradientExchange& operator=(const GradientExchange&) = delete;

  /// Starts bucket `index`. Its tensors live as long as the operation.
  virtual Work start(std::size_t index);
  /// Whether buckets may leave now; if not, they leave in GradientBuckets::finish.
  virtual bool may_start() const { return true; }
  /// Before a step's first bucket leaves.
  virtual void expect(const StepOutlook& outlook) { outlook_ = outlook; }
  /// All buckets of a step have arrived; its gradients are divided by `total_samples`, or not used where that
  /// is 0.
  virtual void end_step(double total_samples) { static_cast<void>(total_samples); }
  /// Forgets what was left over from earlier steps.
  virtual void reset() {}

  /// Bytes that this rank sent; read it while nothing is under way.
  std::int64_t bytes_sent() const { return bytes_; }

 protected:
  /// A bucket's gradients without the extras, and where its parameters lie in them.
  struct Part {
    std::size_t index = 0;
    Tensor values;                  // (count,)
    std::vector<Segment> segments;  // offsets within `values`
  };
  virtual void run(const Part& part, Wire& wire) = 0;

  // On the caller's thread only, because they may be gone when an operation that nobody waits for runs.
  ParameterArena& arena() const { return *arena_; }
  Communicator& communicator() const { return *communicator_; }

  int rank() const { return rank_; }
  int size() const { return size_; }
  const StepOutlook& outlook() const { return outlook_; }
  const std::vector<GradientBuckets::Bucket>& buckets() const { return buckets_; }
  /// Of each bucket, its elements without the extras.
  const std::vector<std::int64_t>& counts() const { return counts_; }
  TensorOptions options() const { return options_; }
  Wire wire(Communicator& communicator) { return Wire(communicator, bytes_); }

 private:
  Part part_of(std::size_t index) const;

  ParameterArena* arena_;
  Communicator* communicator_;
  std::vector<GradientBuckets::Bucket> buckets_;
  std::vector<std::int64_t> counts_;
  TensorOptions options_;
  int rank_, size_;
  StepOutlook outlook_;
  std::atomic<std::int64_t> bytes_ = 0;  // counted here and where operations run
};

/// The one that the options ask for.
std::shared_ptr<GradientExchange> make_exchange(ParameterArena& arena, Communicator& communicator,
                                                const DistributedOptions& options);

}  // namespace ronde::inline v0
