/// How deep what a file holds may be nested. Writers refuse what readers would, which refuse it since a
/// hostile file could otherwise exhaust the stack.
#pragma once

#include <cstddef>

namespace ronde::inline v0 {

/// Of nets within nets: 100 levels Keras reads, too; at 200 Python's own stack is too small.
inline constexpr std::size_t kMaxNetDepth = 100;
/// Of lists and dicts. A net is three levels below the one that it is a layer of; a layer's options have
/// some.
inline constexpr std::size_t kMaxJsonDepth = 3 * kMaxNetDepth + 20;
/// Of groups of weights, which lie two levels below those of the net around them.
inline constexpr std::size_t kMaxGroupDepth = 2 * kMaxNetDepth + 10;

}  // namespace ronde::inline v0
