/// Command: a sub-command of `ronde` as data; tool.h makes a program of them.
///
///     Command summary_command() {
///       const auto file = std::make_shared<std::string>();
///       return {.name = "summary",
///               .help = "print a model's layers",
///               .arguments = {argument("FILE", "model file", text(*file))},
///               .run = [file](Communicator& world) { ... }};
///     }
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <ronde/distributed/communicator.h>

#include "common/command_line.h"

namespace ronde::apps {

struct Argument {
  std::string name;         ///< "FILE", "--classes", or "--samples,--test-samples" for one with two names
  std::string placeholder;  ///< of an option's value; empty for a flag and for "FILE"
  std::string help;
  Setter set;  ///< called for each value; a flag's gets "true"
  bool required = false;
  bool many = false;  ///< "IMAGE...": the last one without a name
};

/// What has to be given, by its place.
Argument argument(std::string name, std::string help, Setter set);
/// One or more of them.
Argument arguments(std::string name, std::string help, Setter set);
Argument option(std::string name, std::string placeholder, std::string help, Setter set);
Argument required_option(std::string name, std::string placeholder, std::string help, Setter set);
Argument flag(std::string name, std::string help, bool& target);

struct Command {
  std::string name;     ///< "evaluate", "data get"
  std::string help;     ///< a line
  std::string details;  ///< examples and what else there is to say; may be empty
  std::vector<Argument> arguments;
  std::function<void(Communicator& world)> run;  ///< on all ranks
  /// Instead of `run`, for what is no rank itself: gets what stands behind the options, or behind "--", and
  /// gives the exit status.
  std::function<int(const std::vector<std::string>& rest)> supervise = {};
};

/// Runs `f` on rank 0 alone; its error becomes that of all ranks. Collective.
template <class F>
void on_main(Communicator& world, F&& f) {
  collectively(world, [&] {
    if (world.rank() == 0) f();
  });
}

}  // namespace ronde::apps
