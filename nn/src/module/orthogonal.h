/// First values of weights whose rows or columns are orthogonal to each other.
#pragma once

#include <cstdint>
#include <span>

namespace ronde::inline v0 {

/// Makes vectors of this length, which lie one behind the other, orthogonal to each other and of length 1: by
/// Gram and Schmidt's way, modified. That is Q of their QR decomposition where R has a positive diagonal.
/// From each the parts along those before it are taken in their order, so the number of threads changes no
/// bit.
void make_orthogonal(std::span<double> vectors, std::int64_t length);

}  // namespace ronde::inline v0
