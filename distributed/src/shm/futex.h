/// Sleeping until a word changes that processes, or threads, share.
#pragma once

#include <atomic>
#include <cstdint>

namespace ronde::inline v0 {

/// Sleeps while `word` is `value`, at most that long; may wake up for no reason.
void futex_sleep(const std::atomic<std::uint32_t>& word, std::uint32_t value, double seconds);
/// Wakes everybody who sleeps on `word`.
void futex_wake(const std::atomic<std::uint32_t>& word);

}  // namespace ronde::inline v0
