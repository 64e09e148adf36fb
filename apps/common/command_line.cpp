#include "common/command_line.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include <ronde/core/error.h>
#include <ronde/core/nearest_word.h>
#include <ronde/core/text.h>
#include <CLI/CLI.hpp>

#include "common/config_file.h"
#include "common/environment.h"
#include "common/help_page.h"

namespace ronde::apps {
namespace {

constexpr const char* kNotYet = "is not available yet";

struct Declared {
  CLI::Option* option = nullptr;
  Setter setter = {};
  bool is_flag = false;
};

// Whose sections one file may have.
const std::vector<std::string> kTrainers{"train_mnist", "train_cifar10"};

}  // namespace

struct CommandLine::State {
  std::string program;
  CLI::App app;
  std::string group = "Options";
  std::string config_file;
  std::map<std::string, Declared> declared;
  std::map<std::string, std::string> settings;

  State(std::string name, const std::string& summary) : program(std::move(name)), app(summary, program) {}

  /// "did you mean --epochs? `train_mnist --help` lists the options"; `prefix` is what options begin with
  /// there.
  std::string advice(const std::string& given, const std::string& prefix) const;
  [[noreturn]] void unknown_option(const std::string& word) const;
  void set(const std::string& name, const std::string& origin, const std::string& value);
  void read_command_line();
  void read_environment();
  void read_config();
  void check_section(const ConfigLine& line) const;
  void set_from(const ConfigLine& line);
  std::vector<std::string> names() const;
};

std::string CommandLine::State::advice(const std::string& given, const std::string& prefix) const {
  std::vector<std::string> known = names();
  for (std::string& name : known) name = prefix + name;
  const std::string nearest = nearest_word(given, known);
  return cat(nearest.empty() ? "" : cat("did you mean ", nearest, "? "), "`", program,
             " --help` lists the options");
}

void CommandLine::State::unknown_option(const std::string& word) const {
  const std::string given = word.substr(0, word.find('='));
  const bool is_option = given.starts_with("-");
  throw UsageError(
      cat(is_option ? "unknown option " : "unexpected argument ", given, ": ", advice(given, "--")));
}

void CommandLine::State::set(const std::string& name, const std::string& origin, const std::string& value) {
  const Declared& option = declared.at(name);
  const std::string complaint = option.setter(value);
  require<UsageError>(complaint.empty(), origin, complaint == kNotYet ? " " : ": ", complaint);
  settings.emplace(name, value);
}

void CommandLine::State::read_command_line() {
  for (const auto& [name, option] : declared) {
    if (option.option->count() == 0) continue;
    const std::string value = option.option->results().back();  // of a flag without one: true
    set(name, cat("--", name, option.is_flag ? "=" : " ", value), value);
  }
}

void CommandLine::State::read_environment() {
  for (const auto& [name, option] : declared) {
    const std::string variable = environment_name(name);
    const char* value = std::getenv(variable.c_str());
    if (value == nullptr || *value == '\0' || settings.contains(name)) continue;
    set(name, cat(variable, "=", value), value);
  }
}

// What the program's own section says beats what is in front of all sections.
void CommandLine::State::read_config() {
  if (config_file.empty()) return;
  const std::vector<ConfigLine> lines = read_config_file(config_file);
  for (const ConfigLine& line : lines) check_section(line);
  for (const std::string& section : {program, std::string()})
    for (const ConfigLine& line : lines)
      if (line.section == section && !line.name.empty()) set_from(line);
}

void CommandLine::State::check_section(const ConfigLine& line) const {
  std::vector<std::string> known = kTrainers;
  known.push_back(program);
  if (line.section.empty() || std::find(known.begin(), known.end(), line.section) != known.end()) return;
  const std::string nearest = nearest_word(line.section, known);
  throw UsageError(cat(line.place, ": unknown section [", line.section, "]: ",
                       nearest.empty() ? cat("a section is named after a program: ", joined(kTrainers))
                                       : cat("did you mean [", nearest, "]?")));
}

void CommandLine::State::set_from(const ConfigLine& line) {
  require<UsageError>(line.name != "config", line.place, ": a file of options names no other");
  require<UsageError>(declared.contains(line.name), line.place, ": unknown option ", line.name, ": ",
                      advice(line.name, ""));
  if (!settings.contains(line.name))
    set(line.name, cat(line.place, ": ", line.name, " = ", line.value), line.value);
}

std::vector<std::string> CommandLine::State::names() const {
  std::vector<std::string> all;
  for (const auto& [name, option] : declared) all.push_back(name);
  return all;
}

CommandLine::CommandLine(std::string program, const std::string& summary)
    : state_(std::make_unique<State>(std::move(program), summary)) {
  CLI::App& app = state_->app;
  app.formatter(std::make_shared<HelpPage>(34));
  app.option_defaults()->group(state_->group);
  app.set_help_flag("-h,--help", "print this and exit");
  app.set_version_flag("--version", cat(state_->program, " ", RONDE_VERSION), "print the version and exit");
  app.allow_extras();
  option("config", "FILE", "options from a file: lines like `epochs = 3`", apps::text(state_->config_file));
}

CommandLine::~CommandLine() = default;

void CommandLine::group(const std::string& title) {
  state_->group = title;
}

void CommandLine::option(const std::string& name, const std::string& placeholder, const std::string& help,
                         Setter setter) {
  CLI::Option* option = state_->app.add_option("--" + name, help);
  option->type_name(placeholder)->group(state_->group)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  state_->declared[name] = {.option = option, .setter = std::move(setter)};
}

void CommandLine::flag(const std::string& name, const std::string& help, bool& target) {
  CLI::Option* option = state_->app.add_flag("--" + name, help);
  option->group(state_->group);
  state_->declared[name] = {.option = option, .setter = boolean(target), .is_flag = true};
}

std::optional<std::string> CommandLine::parse(int argc, const char* const* argv) {
  try {
    state_->app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return state_->app.help();
  } catch (const CLI::CallForVersion& version) {
    return std::string(version.what()) + "\n";
  } catch (const CLI::ArgumentMismatch& mismatch) {
    const std::string what = mismatch.what();
    throw UsageError(cat(what.substr(0, what.find(':')), " needs a value"));
  } catch (const CLI::ParseError& error) {
    throw UsageError(error.what());
  }
  if (const auto extras = state_->app.remaining(); !extras.empty()) state_->unknown_option(extras.front());
  state_->read_command_line();
  state_->read_environment();
  state_->read_config();
  return std::nullopt;
}

std::vector<std::string> CommandLine::warnings() const {
  return unread_variables(state_->names());
}

const std::map<std::string, std::string>& CommandLine::settings() const {
  return state_->settings;
}

}  // namespace ronde::apps
