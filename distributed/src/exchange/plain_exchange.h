/// PlainExchange: the sum, straight in the gradients; nothing is copied. Of tables, such as an Embedding's,
/// only the rows that were used: Note [Sparse rows].
#pragma once

#include "exchange/gradient_exchange.h"

namespace ronde::inline v0 {

class PlainExchange final : public GradientExchange {
 public:
  PlainExchange(ParameterArena& arena, Communicator& communicator, BucketOptions options)
      : GradientExchange(arena, communicator, options) {}

  /// One all-reduce takes the extras along.
  Work start(std::size_t index) override;

 private:
  void run(const Part& part, Wire& wire) override;
};

}  // namespace ronde::inline v0
