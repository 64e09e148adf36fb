#include "ronde/run/ignored_signals.h"

#include <csignal>
#include <cstdint>

namespace ronde::apps {
namespace {

constexpr int kLastOfThem = 31;  // behind it come those of real time
std::uint32_t ignored_signals = 0;

void look(int, char**, char**) {
  for (int number = 1; number <= kLastOfThem; ++number) {
    struct sigaction now {};
    if (sigaction(number, nullptr, &now) == 0 && now.sa_handler == SIG_IGN) ignored_signals |= 1u << number;
  }
}

// What the loader calls before it initializes any library.
[[gnu::section(".preinit_array"), gnu::used]] void (*const kFirstOfAll)(int, char**, char**) = look;

}  // namespace

bool was_started_ignoring(int signal) {
  return signal >= 1 && signal <= kLastOfThem && (ignored_signals >> signal & 1u) != 0;
}

}  // namespace ronde::apps
