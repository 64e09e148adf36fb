/// How libpng and libjpeg end a call that failed: they were made to longjmp. All that happens between here.
#pragma once

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstddef>
#include <string_view>

namespace ronde::inline v0 {

/// Where a C library goes with its fatal errors, and what it said.
struct ErrorExit {
  std::jmp_buf target;
  std::array<char, 200> message{};

  [[noreturn]] void leave(std::string_view text) {
    const std::size_t kept = std::min(text.size(), message.size() - 1);
    std::copy_n(text.begin(), kept, message.begin());
    message[kept] = '\0';
    std::longjmp(target, 1);
  }
};

/// Runs `calls`; false when a library left them by `exit.leave`. Nothing that has a destructor may be made or
/// be alive in `calls` or in a function it calls: that is skipped. What belongs to the caller is safe.
template <class F>
[[gnu::noinline]] bool survives(ErrorExit& exit, const F& calls) {
  if (setjmp(exit.target) != 0) return false;
  calls();
  return true;
}

}  // namespace ronde::inline v0
