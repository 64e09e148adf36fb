/// AdasumExchange: see Combine::adasum.
///
/// Every rank gets one slice of all ranks' mean gradients. Then, round by round, the vectors of ranks 0 and
/// 1, 2 and 3, ... become one: the products that a pair needs are sums over whole parameters, so each rank
/// computes its slice's part of them and one small all-reduce a round adds these up. At the end the slices
/// are gathered. That moves as many bytes as a sum does, and gives what recursive halving and doubling gives.
#pragma once

#include "exchange/gradient_exchange.h"
#include "exchange/slices.h"

namespace ronde::inline v0 {

class AdasumExchange final : public GradientExchange {
 public:
  AdasumExchange(ParameterArena& arena, Communicator& communicator, BucketOptions options);

  /// Means need the number of samples.
  bool may_start() const override { return outlook().knows_samples; }

 private:
  void run(const Part& part, Wire& wire) override;
  template <class T>
  void run_typed(const Part& part, Wire& wire);

  Tensor sent_, received_;  // room for the largest bucket's slices
};

}  // namespace ronde::inline v0
