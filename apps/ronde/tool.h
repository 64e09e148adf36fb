/// The frame of `ronde`: finds the sub-command, parses its arguments, runs it.
#pragma once

#include <vector>

#include "ronde/command.h"

namespace ronde::apps {

/// `main` of the tool. Help and version print once and need no MPI; a mistake is one line on stderr and exit
/// status 2, with the command or option that was probably meant.
int tool_main(int argc, char** argv, const std::vector<Command>& commands);

}  // namespace ronde::apps
