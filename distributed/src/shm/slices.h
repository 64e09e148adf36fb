/// How elements are shared out over ranks: which rank reduces which.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include <ronde/core/dtype.h>
#include <ronde/core/whole_numbers.h>

namespace ronde::inline v0 {

constexpr std::int64_t kCacheLine = 64;

/// Where slice `i` of `slices` begins in `count` elements; slice i ends where i + 1 begins. Whole cache lines
/// of an aligned buffer, so that no two ranks write to the same one.
inline std::int64_t slice_begin(std::int64_t count, int i, int slices, DType dtype) {
  if (i >= slices) return count;
  const std::int64_t line = kCacheLine / static_cast<std::int64_t>(size_of(dtype));
  return std::min(count, ceil_divide(count * i / slices, line) * line);
}

/// Elements of each of `ranks` ranks; those behind the first `slices` ranks have none.
inline std::vector<std::int64_t> slice_counts(std::int64_t count, int slices, int ranks, DType dtype) {
  std::vector<std::int64_t> counts;
  for (int r = 0; r < ranks; ++r)
    counts.push_back(slice_begin(count, r + 1, slices, dtype) - slice_begin(count, r, slices, dtype));
  return counts;
}

}  // namespace ronde::inline v0
