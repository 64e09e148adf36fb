#include <ronde/core/error.h>

#include <new>
#include <system_error>

namespace ronde::inline v0 {

std::string explanation(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr)
    return "not enough memory: smaller batches, or fewer ranks on this machine, need less";
  const auto* system = dynamic_cast<const std::system_error*>(&error);
  if (system != nullptr && system->code() == std::errc::resource_unavailable_try_again)
    return cat("cannot start a thread: ", error.what(),
               ": raise the limit of processes (ulimit -u, a container's pids), or give RONDE_THREADS=1");
  return error.what();
}

}  // namespace ronde::inline v0
