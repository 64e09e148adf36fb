/// All ranks of a job must do the same work.
#pragma once

#include <map>
#include <string>

#include <ronde/distributed/communicator.h>

namespace ronde::apps {

/// Collective. Unless every rank has the same settings (names and values of options), all ranks throw a
/// CollectiveError with the status of wrong usage that names the first other rank and the option.
void require_same_options(Communicator& world, const std::map<std::string, std::string>& settings);

/// Collective. The same for anything that can be written as a line of text: `what` is that rank's data set,
/// say.
void require_same(Communicator& world, const std::string& what, const std::string& value, ExitStatus status);

}  // namespace ronde::apps
