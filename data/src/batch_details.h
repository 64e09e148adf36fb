/// BatchDetails: what a batch has beside its inputs, in one block of memory, so that one copy brings it to a
/// device. A copy costs some microseconds whatever its size.
#pragma once

#include <cstdint>

#include <ronde/core/tensor.h>
#include <ronde/data/dataset.h>

namespace ronde::inline v0 {

class BatchDetails {
 public:
  BatchDetails() = default;
  /// What a sample has where its inputs lie on the device already.
  struct OfResident {
    bool index = false;
    std::int64_t numbers = 0;  ///< for its augmentation
  };
  /// Room for `rows` samples.
  BatchDetails(const Dataset& data, std::int64_t rows, const OfResident& each, Backend& backend);

  /// All of it, from one of the same data and size.
  void copy_from(const BatchDetails& other) const { block_.copy_from(other.block_); }

  Tensor targets;
  Tensor keys;     // i64 (rows, 2)
  Tensor indices;  // i32 (rows), the samples; or of none
  Tensor numbers;  // f64 (rows, numbers of each)

 private:
  Tensor block_;  // bytes; the others lie in it
};

}  // namespace ronde::inline v0
