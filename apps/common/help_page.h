/// What --help prints.
#pragma once

#include <cstddef>
#include <string>

#include <CLI/CLI.hpp>

namespace ronde::apps {

/// One look of it with every version of CLI11, each of which has another: what a program does, its usage
/// line, arguments, options by group, commands, details. Lines are as long as those they are made of.
class HelpPage : public CLI::FormatterBase {
 public:
  /// At `column` begins what an option or a command means.
  explicit HelpPage(std::size_t column);
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;
};

/// How many values of an option or argument mean any number of them.
inline constexpr int kAnyNumber = CLI::detail::expected_max_vector_size;

}  // namespace ronde::apps
