/// Divisions by what a launch knows: a product and a shift, where a GPU's own are some twenty instructions.
#pragma once

#include <bit>
#include <cstdint>

#include <cuda_runtime.h>

namespace ronde::inline v0::cuda {

/// For numbers from 0 to below 2^31 by one from 1 to below 2^31: of the product with a multiplier that is
/// rounded up by less than 1, what is too much stays below 1 / divisor.
class Divisor {
 public:
  explicit Divisor(int divisor)
      : shift_(31 + std::bit_width(static_cast<unsigned>(divisor) - 1)),
        multiplier_(
            static_cast<std::uint32_t>(((std::uint64_t{1} << shift_) + static_cast<unsigned>(divisor) - 1) /
                                       static_cast<unsigned>(divisor))) {}

  __device__ int quotient(int number) const {
    return static_cast<int>(static_cast<std::uint64_t>(static_cast<unsigned>(number)) * multiplier_ >>
                            shift_);
  }

 private:
  int shift_;
  std::uint32_t multiplier_;
};

}  // namespace ronde::inline v0::cuda
