/// HalfExchange: 16 bits of each value travel. Every rank gets one slice of all ranks' values, adds them up
/// in f32 in the order of the ranks, rounds once more and gives the result to all.
#pragma once

#include "exchange/gradient_exchange.h"
#include "exchange/half_codec.h"

namespace ronde::inline v0 {

class HalfExchange final : public GradientExchange {
 public:
  HalfExchange(ParameterArena& arena, Communicator& communicator, BucketOptions options, HalfFormat format);

 private:
  void run(const Part& part, Wire& wire) override;
  template <class T>
  void run_typed(const Part& part, Wire& wire);
  std::byte* bytes_at(const Tensor& buffer, std::int64_t slice, std::int64_t slice_bytes) const;

  HalfCodec codec_;
  Tensor sent_, received_;  // u8; room for the largest bucket's slices
  std::vector<float> sums_;
};

}  // namespace ronde::inline v0
