#include "ronde/tool.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <sstream>

#include <ronde/core/error.h>
#include <ronde/core/nearest_word.h>
#include <ronde/distributed/communicator.h>
#include <ronde/distributed/runtime.h>
#include <CLI/CLI.hpp>

#include "common/help_page.h"
#include "common/standard_output.h"
#include "common/terminal_text.h"

namespace ronde::apps {
namespace {

constexpr const char* kFooter =
    "`ronde COMMAND --help` says more about each. What trains: train_mnist, train_cifar10.";

struct Declared {
  const Argument* argument = nullptr;
  CLI::Option* option = nullptr;
};

/// Of a line that names no command: its answer is the help.
class NoCommand : public UsageError {
 public:
  NoCommand(const std::string& message, std::string help) : UsageError(message), help_(std::move(help)) {}
  const std::string& help() const { return help_; }

 private:
  std::string help_;
};

/// CLI11's parser for a list of commands.
class Parser {
 public:
  explicit Parser(const std::vector<Command>& commands);
  /// The chosen command, its arguments set. UsageError; CLI::Success when help or the version is wanted.
  const Command& parse(int argc, char** argv);
  int print(const CLI::Success& wanted);

 private:
  void declare(const Command& command);
  CLI::App& group_app(const std::string& name);
  CLI::App& add_app(CLI::App& parent, const std::string& name, const std::string& help);
  CLI::App& chosen_app();
  void set_arguments(const Command& command, const std::vector<Declared>& declared) const;
  [[noreturn]] void refuse_extra(const CLI::App& app) const;

  CLI::App app_;
  std::map<CLI::App*, const Command*> commands_;
  std::map<CLI::App*, std::vector<Declared>> declared_;
};

std::string full_name(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name()
                                     : cat(full_name(*app.get_parent()), " ", app.get_name());
}

std::string help_hint(const CLI::App& app) {
  return cat("see `", full_name(app), " --help`");
}

int Parser::print(const CLI::Success& wanted) {
  std::ostringstream text;
  const int status = app_.exit(wanted, text, text);
  std::fputs(for_terminal(text.str()).c_str(), stdout);
  return status;
}

Parser::Parser(const std::vector<Command>& commands)
    : app_("Looks at data, models and runs of Ronde.", "ronde") {
  app_.formatter(std::make_shared<HelpPage>(26));
  app_.option_defaults()->group("Options");
  app_.set_help_flag("-h,--help", "print this and exit");
  app_.set_version_flag("--version", cat("ronde ", RONDE_VERSION), "print the version and exit");
  app_.footer(kFooter);
  app_.require_subcommand(1);
  app_.allow_extras();
  for (const Command& command : commands) declare(command);
}

CLI::App& Parser::add_app(CLI::App& parent, const std::string& name, const std::string& help) {
  CLI::App& app = *parent.add_subcommand(name, help);
  app.get_help_ptr()->group("Options");  // CLI11 2.6 makes it before it inherits that
  app.allow_extras();
  app.footer("");
  return app;
}

CLI::App& Parser::group_app(const std::string& name) {
  const auto found = app_.get_subcommands([&](const CLI::App* app) { return app->get_name() == name; });
  if (!found.empty()) return *found.front();
  CLI::App& group = add_app(app_, name, "data sets: get, pack");
  group.require_subcommand(1);
  return group;
}

void Parser::declare(const Command& command) {
  const std::size_t space = command.name.find(' ');
  CLI::App& parent = space == std::string::npos ? app_ : group_app(command.name.substr(0, space));
  CLI::App& app = add_app(parent, command.name.substr(space + 1), command.help);
  app.footer(command.details);
  commands_[&app] = &command;
  for (const Argument& argument : command.arguments) {
    const bool is_flag = argument.name.starts_with("-") && argument.placeholder.empty();
    CLI::Option* option =
        is_flag ? app.add_flag(argument.name, argument.help) : app.add_option(argument.name, argument.help);
    if (!is_flag)
      option->type_name(argument.placeholder)
          ->expected(1, argument.many ? kAnyNumber : 1)
          ->allow_extra_args(argument.many);
    if (!is_flag)
      option->multi_option_policy(argument.many ? CLI::MultiOptionPolicy::TakeAll
                                                : CLI::MultiOptionPolicy::TakeLast);
    option->required(argument.required);
    declared_[&app].push_back({&argument, option});
  }
}

CLI::App& Parser::chosen_app() {
  CLI::App* app = &app_;
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  return *app;
}

void Parser::refuse_extra(const CLI::App& app) const {
  const std::string word = app.remaining(true).front();
  const bool is_option = word.starts_with("-");
  std::vector<std::string> known;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames())
      if (is_option) known.push_back("--" + name);
  for (const CLI::App* command : app.get_subcommands({}))
    if (!is_option) known.push_back(command->get_name());
  const std::string given = word.substr(0, word.find('='));
  const std::string meant = nearest_word(given, known);
  const bool has_commands = !app.get_subcommands({}).empty();
  throw UsageError(cat(is_option      ? "unknown option "
                       : has_commands ? "unknown command "
                                      : "unexpected argument ",
                       given, ": ", meant.empty() ? "" : cat("did you mean ", meant, "? "), help_hint(app)));
}

void Parser::set_arguments(const Command& command, const std::vector<Declared>& declared) const {
  for (const auto& [argument, option] : declared) {
    if (option->count() == 0) continue;
    for (const std::string& value : option->results()) {  // of a flag without one: true
      const std::string complaint = argument->set(value);
      const std::string name = argument->name.substr(0, argument->name.find(','));
      require<UsageError>(complaint.empty(), name, " ", value, ": ", complaint, " (`ronde ", command.name,
                          " --help`)");
    }
  }
}

const Command& Parser::parse(int argc, char** argv) {
  try {
    app_.parse(argc, argv);
  } catch (const CLI::Success&) {
    throw;
  } catch (const CLI::ParseError& error) {
    CLI::App& app = chosen_app();
    if (!app.remaining(true).empty()) refuse_extra(app);
    const std::string what = error.what();
    if (!commands_.contains(&app)) throw NoCommand(cat("no command given: ", help_hint(app)), app_.help());
    const bool lacks_value = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ArgumentMismatch);
    throw UsageError(
        cat(lacks_value ? what.substr(0, what.find(':')) + " needs a value" : what, ": ", help_hint(app)));
  }
  CLI::App& app = chosen_app();
  if (!app.remaining(true).empty()) refuse_extra(app);
  const Command& command = *commands_.at(&app);
  set_arguments(command, declared_[&app]);
  return command;
}

// What a command that runs another program leaves to that: what stands behind "--", or else from the first
// word that is neither an option nor the value of one. -np is mpirun's way to write --np.
std::vector<char*> cut_off_rest(int argc, char** argv, const std::vector<Command>& commands,
                                std::vector<std::string>& rest) {
  static char ranks[] = "--np";
  std::vector<char*> own(argv, argv + argc);
  const auto command = std::find_if(commands.begin(), commands.end(), [&](const Command& one) {
    return one.supervise && argc > 1 && one.name == argv[1];
  });
  if (command == commands.end()) return own;
  std::size_t i = 2;
  for (; i < own.size() && own[i][0] == '-' && std::string(own[i]) != "--"; ++i) {
    if (std::string(own[i]) == "-np") own[i] = ranks;
    const auto known = std::find_if(command->arguments.begin(), command->arguments.end(),
                                    [&](const Argument& a) { return a.name == own[i]; });
    if (known != command->arguments.end() && !known->placeholder.empty()) ++i;
  }
  const std::size_t end = std::min(i, own.size());
  for (std::size_t k = end; k < own.size(); ++k)
    if (k > end || std::string(own[k]) != "--") rest.emplace_back(own[k]);
  own.resize(end);
  return own;
}

// "ronde help data get" is "ronde data get --help".
std::vector<char*> with_help_behind(std::vector<char*> words) {
  static char help[] = "--help";
  if (words.size() < 2 || std::string(words[1]) != "help") return words;
  words.erase(words.begin() + 1);
  words.push_back(help);
  return words;
}

int run_on_ranks(int argc, char** argv, const std::function<void(Communicator&)>& body) {
  // They are for training: a command that reads a timeline must not overwrite it.
  for (const char* name : {"RONDE_TIMELINE", "HOROVOD_TIMELINE"}) ::unsetenv(name);
  return run_main(argc, argv, body);
}

// By all ranks together: one that ended before rank 0 has spoken would end it, too.
int refuse(int argc, char** argv, const std::exception_ptr& mistake) {
  return run_on_ranks(argc, argv, [&](Communicator& world) {
    collectively(world, [&] { std::rethrow_exception(mistake); });
  });
}

int run_tool(int argc, char** argv, const std::vector<Command>& commands) {
  Parser parser(commands);
  const Command* command = nullptr;
  std::vector<std::string> rest;
  try {
    std::vector<char*> own = with_help_behind(cut_off_rest(argc, argv, commands, rest));
    command = &parser.parse(static_cast<int>(own.size()), own.data());
    if (command->supervise) return command->supervise(rest);
  } catch (const CLI::Success& wanted) {
    return launch_rank() == 0 ? parser.print(wanted) : 0;
  } catch (const NoCommand& error) {
    if (launch_rank() == 0) std::fprintf(stderr, "%s\n", for_terminal(error.help()).c_str());
    return refuse(argc, argv, std::current_exception());
  } catch (const Error&) {
    return refuse(argc, argv, std::current_exception());
  }
  return run_on_ranks(argc, argv, [&](Communicator& world) { command->run(world); });
}

}  // namespace

int tool_main(int argc, char** argv, const std::vector<Command>& commands) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error like others
  const int status = run_tool(argc, argv, commands);
  // What it prints is all that it does.
  const bool arrived = flush_standard_output();
  return status == 0 && !arrived ? static_cast<int>(ExitStatus::io) : status;
}

}  // namespace ronde::apps
