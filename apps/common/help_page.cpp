#include "common/help_page.h"

#include <string>
#include <vector>

#include <ronde/core/text.h>

namespace ronde::apps {
namespace {

using Options = std::vector<const CLI::Option*>;

bool is_argument(const CLI::Option* option) {
  return option->get_positional();
}

// "-h,--help", "--seed N", "IMAGE ..."
std::string name_of(const CLI::Option& option) {
  std::vector<std::string> names;
  if (is_argument(&option)) names.push_back(option.get_name(true, false));
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  const bool has_values = option.get_type_size() != 0;
  const std::string placeholder = has_values ? option.get_type_name() : "";
  return cat(joined(names, ","), placeholder.empty() ? "" : " ", placeholder,
             has_values && option.get_expected_max() == kAnyNumber ? " ..." : "");
}

// A first column that is too wide has a line of its own.
std::string two_columns(const std::string& first, const std::string& second, std::size_t column) {
  const std::string next_line = '\n' + std::string(column, ' ');
  std::string text = "  " + first;
  if (text.size() < column)
    text.resize(column, ' ');
  else
    text += next_line;
  return cat(text, joined(split(second, '\n'), next_line), '\n');
}

std::string section(const std::string& title, const Options& options, std::size_t column) {
  if (options.empty()) return "";
  std::string text = cat('\n', title, ":\n");
  for (const CLI::Option* option : options)
    text += two_columns(name_of(*option), option->get_description(), column);
  return text;
}

// "IMAGE...", and "[IMAGE...]" where there need be none.
std::string usage_of(const CLI::Option& argument) {
  const std::string name =
      cat(argument.get_name(true, false), argument.get_items_expected_max() >= kAnyNumber ? "..." : "");
  return argument.get_required() ? name : cat('[', name, ']');
}

}  // namespace

HelpPage::HelpPage(std::size_t column) {
  column_width(column);
}

std::string HelpPage::make_help(const CLI::App* app, std::string name, CLI::AppFormatMode) const {
  const Options arguments = app->get_options(is_argument);
  const auto commands = app->get_subcommands([](const CLI::App*) { return true; });
  std::string page = cat(app->get_description(), "\nUsage: ", name, " [OPTIONS]");
  for (const CLI::Option* argument : arguments) page += " " + usage_of(*argument);
  page += commands.empty() ? "\n" : " COMMAND\n";

  page += section("Arguments", arguments, column_width_);
  for (const std::string& group : app->get_groups())
    page += section(group, app->get_options([&](const CLI::Option* option) {
      return !is_argument(option) && option->get_group() == group;
    }),
                    column_width_);
  if (!commands.empty()) page += "\nCommands:\n";
  for (const CLI::App* command : commands)
    page += two_columns(command->get_name(), command->get_description(), column_width_);
  return page + (app->get_footer().empty() ? "" : cat('\n', app->get_footer(), '\n'));
}

}  // namespace ronde::apps
