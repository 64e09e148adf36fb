/// CommandLine: a program's options, from the command line, the environment and a file.
///
///     CommandLine line("train_mnist", "Trains a net on MNIST.");
///     line.option("epochs", "N", "passes over the data", whole_number(options.epochs, 1));
///     if (const auto text = line.parse(argc, argv)) return print(*text);
///
/// A flag beats $RONDE_EPOCHS, which beats `epochs = 3` in --config FILE, which beats the default.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ronde::apps {

/// Takes an option's value; returns what is wrong with it, empty when nothing is.
using Setter = std::function<std::string(const std::string&)>;

/// From `least` to `most`, where that is not given to 2^31 - 1.
Setter whole_number(std::optional<std::int64_t>& target, std::int64_t least);
Setter whole_number(std::int64_t& target, std::int64_t least);
Setter whole_number(std::int64_t& target, std::int64_t least, std::int64_t most);
/// A finite number greater than 0.
Setter positive_number(std::optional<double>& target);
Setter positive_number(double& target);
/// A positive number of seconds, or 0 for never.
Setter seconds_or_never(double& target);
Setter seconds_or_never(std::optional<double>& target);
/// A positive number of seconds, or 0 for at once.
Setter seconds_or_at_once(double& target);
/// Not empty.
Setter boolean(bool& target);
Setter text(std::string& target);
/// One of `values`.
Setter one_of(std::string& target, std::vector<std::string> values);

class CommandLine {
 public:
  CommandLine(std::string program, const std::string& summary);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  /// Options declared from here on are listed under this title.
  void group(const std::string& title);
  /// --name VALUE
  void option(const std::string& name, const std::string& placeholder, const std::string& help,
              Setter setter);
  /// --name; in the environment and in files: true or false
  void flag(const std::string& name, const std::string& help, bool& target);

  /// Calls the setters. Returns the text of --help or --version when one was asked for, and then sets
  /// nothing. Throws a UsageError that names the option and where its value came from.
  std::optional<std::string> parse(int argc, const char* const* argv);

  /// What was given in vain and is no error: variables RONDE_... that nothing reads.
  std::vector<std::string> warnings() const;

  /// The values that were given, wherever, by option name.
  const std::map<std::string, std::string>& settings() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ronde::apps
