/// ShardedExchange: ZeRO-1. Each rank gets the sum of its part of each bucket and, once it has updated the
/// weights there, gives these to all.
///
/// A part is a slice of the bucket, equally long for all ranks; the few elements that are over belong to the
/// last rank. In the other parts the gradients stay this rank's own.
#pragma once

#include <ronde/nn/optimizer.h>

#include "exchange/gradient_exchange.h"

namespace ronde::inline v0 {

class ShardedExchange final : public GradientExchange {
 public:
  ShardedExchange(ParameterArena& arena, Communicator& communicator, BucketOptions options)
      : GradientExchange(arena, communicator, options) {}

  /// What this rank updates, in elements of the arena; ascending.
  std::vector<ArenaRange> own_ranges() const { return ranges_of(rank()); }
  /// In place over a flat buffer of the trainable part: each rank gives its ranges to all. Collective.
  void gather(const Tensor& flat);
  /// This rank's ranges of what it holds, one after the other, to the whole on `root`; undefined elsewhere.
  /// Collective.
  Tensor gather_at(int root, const Tensor& own);
  /// The other way round.
  void scatter_from(int root, const Tensor& whole, const Tensor& own);

 private:
  std::vector<ArenaRange> ranges_of(int rank) const;
  ArenaRange range_of(std::size_t bucket, int rank) const;
  /// Elements of a bucket that all ranks share equally.
  std::int64_t even_count(std::size_t bucket) const { return counts()[bucket] / size() * size(); }
  void run(const Part& part, Wire& wire) override;
};

}  // namespace ronde::inline v0
