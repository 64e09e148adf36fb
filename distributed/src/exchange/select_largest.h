/// The k elements of largest magnitude.
#pragma once

#include <cstdint>
#include <vector>

namespace ronde::inline v0 {

/// Their places, ascending; of equal magnitudes those that come first. A NaN counts as larger than all
/// numbers, so that it is noticed. 0 <= k <= count; T is float or double. Takes a few passes, no sorting.
template <class T>
std::vector<std::int32_t> select_largest(const T* values, std::int64_t count, std::int64_t k);

}  // namespace ronde::inline v0
