/// Slices: a vector cut into equally long parts, one for each rank; the last ones may reach over its end.
#pragma once

#include <algorithm>
#include <cstdint>

#include <ronde/core/whole_numbers.h>

namespace ronde::inline v0 {

class Slices {
 public:
  Slices(std::int64_t count, int ranks) : count_(count), length_(ceil_divide<std::int64_t>(count, ranks)) {}

  /// Of each slice, the part over the end included.
  std::int64_t length() const { return length_; }
  std::int64_t begin(int rank) const { return std::min(rank * length_, count_); }
  /// Elements of the slice that exist.
  std::int64_t count(int rank) const { return begin(rank + 1) - begin(rank); }

 private:
  std::int64_t count_;
  std::int64_t length_;
};

}  // namespace ronde::inline v0
