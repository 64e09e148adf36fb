#include "ronde/command.h"

#include <utility>

namespace ronde::apps {

Argument argument(std::string name, std::string help, Setter set) {
  return {.name = std::move(name),
          .placeholder = {},
          .help = std::move(help),
          .set = std::move(set),
          .required = true};
}

Argument arguments(std::string name, std::string help, Setter set) {
  Argument result = argument(std::move(name), std::move(help), std::move(set));
  result.many = true;
  return result;
}

Argument option(std::string name, std::string placeholder, std::string help, Setter set) {
  return {.name = std::move(name),
          .placeholder = std::move(placeholder),
          .help = std::move(help),
          .set = std::move(set)};
}

Argument required_option(std::string name, std::string placeholder, std::string help, Setter set) {
  Argument result = option(std::move(name), std::move(placeholder), std::move(help), std::move(set));
  result.required = true;
  return result;
}

Argument flag(std::string name, std::string help, bool& target) {
  return option(std::move(name), "", std::move(help), boolean(target));
}

}  // namespace ronde::apps
