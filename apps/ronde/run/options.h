/// What `ronde run` was asked to do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ronde/run/hosts.h"

namespace ronde::apps {

struct RunOptions {
  std::int64_t ranks = 1;
  std::vector<Host> hosts;                   ///< empty: this machine
  std::optional<std::int64_t> max_restarts;  ///< none: as long as each start gets further
  std::optional<double> hang_timeout;        ///< seconds, 0: none; not given: as the ranks have it
  double grace = 25.0;                       ///< seconds to save in, after a signal
  bool allow_root = false;
  bool standby = false;              ///< keep a second set of ranks ready
  std::string iface;                 ///< of several machines: an interface or a network that ranks listen on
  std::vector<std::string> program;  ///< with its arguments
};

}  // namespace ronde::apps
