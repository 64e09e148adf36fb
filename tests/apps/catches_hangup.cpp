// A library that catches SIGHUP as it is loaded, as UCX does, which comes with Open MPI 5.
#include <csignal>

namespace {

[[gnu::constructor]] void load() {
  std::signal(SIGHUP, [](int) {});
}

}  // namespace
