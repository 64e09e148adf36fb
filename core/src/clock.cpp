#include <ronde/core/clock.h>

#include <chrono>

namespace ronde::inline v0 {

namespace {

template <class Clock>
double seconds_of() {
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

}  // namespace

double unix_seconds() {
  return seconds_of<std::chrono::system_clock>();
}

double steady_seconds() {
  return seconds_of<std::chrono::steady_clock>();
}

}  // namespace ronde::inline v0
