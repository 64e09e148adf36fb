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
  /// Room for `rows` samples, each with so many numbers for its augmentation.
  BatchDetails(const Dataset& data, std::int64_t rows, std::int64_t numbers_of_each, Backend& backend);

  /// All of it, from one of the same data and size.
  void copy_from(const BatchDetails& other) const { block_.copy_from(other.block_); }

  Tensor targets;
  Tensor keys;     // i64 (rows, 2)
  Tensor numbers;  // f64 (rows, numbers of each)

 private:
  Tensor block_;  // bytes; the others lie in it
};

}  // namespace ronde::inline v0
