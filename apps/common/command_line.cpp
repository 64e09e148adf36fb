#include "common/command_line.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include <ronde/core/error.h>
#include <CLI/CLI.hpp>

#include "common/nearest_word.h"

namespace ronde::apps {
namespace {

constexpr const char* kNotYet = "is not available yet";

struct Declared {
  CLI::Option* option = nullptr;
  Setter setter = {};
  bool is_flag = false;
};

std::string environment_name(const std::string& option) {
  std::string name = "RONDE_" + option;
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return c == '-' ? '_' : static_cast<char>(std::toupper(c)); });
  return name;
}

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
};

std::string CommandLine::State::advice(const std::string& given, const std::string& prefix) const {
  std::vector<std::string> known;
  for (const auto& [name, option] : declared) known.push_back(prefix + name);
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

void CommandLine::State::read_config() {
  if (config_file.empty()) return;
  std::error_code ignored;
  require<UsageError>(!std::filesystem::is_directory(config_file, ignored), "--config ", config_file,
                      ": is a directory, not a file of options");
  std::vector<CLI::ConfigItem> items;
  try {
    items = CLI::ConfigTOML().from_file(config_file);
  } catch (const CLI::Error& error) {
    throw UsageError(cat("--config ", config_file, ": ", error.what()));
  }
  for (const CLI::ConfigItem& item : items) {
    if (item.name == "++" || item.name == "--") continue;  // begin and end of a section
    const bool ours = item.parents.empty() || (item.parents.size() == 1 && item.parents[0] == program);
    if (!ours) continue;
    const auto found = declared.find(item.name);
    require<UsageError>(found != declared.end(), config_file, ": unknown option ", item.name, ": ",
                        advice(item.name, ""));
    require<UsageError>(item.inputs.size() == 1, config_file, ": ", item.name, " needs one value");
    if (settings.contains(item.name)) continue;
    set(item.name, cat(config_file, ": ", item.name, " = ", item.inputs[0]), item.inputs[0]);
  }
}

CommandLine::CommandLine(std::string program, const std::string& summary)
    : state_(std::make_unique<State>(std::move(program), summary)) {
  CLI::App& app = state_->app;
  app.set_help_flag("-h,--help", "print this and exit");
  app.set_version_flag("--version", cat(state_->program, " ", RONDE_VERSION), "print the version and exit");
  app.allow_extras();
  app.get_formatter()->column_width(34);
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

const std::map<std::string, std::string>& CommandLine::settings() const {
  return state_->settings;
}

}  // namespace ronde::apps
