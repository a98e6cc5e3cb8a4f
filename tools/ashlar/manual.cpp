#include "manual.hpp"

#include <ashlar/catalog/searched_entries.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <string_view>
#include <vector>

namespace tool {

namespace {

std::vector<CLI::App const*> commands_of(CLI::App const& app) { return app.get_subcommands({}); }

std::vector<CLI::Option const*> options_of(CLI::App const& app) {
  std::vector<CLI::Option const*> all = app.get_options();
  all.erase(std::remove_if(all.begin(), all.end(),
                           [](CLI::Option const* o) { return o->get_group().empty(); }),
            all.end());
  return all;
}

// The flags as they are written: -p, --devices.
std::vector<std::string> flags_of(CLI::Option const& o) {
  std::vector<std::string> all;
  for (std::string const& name : o.get_snames()) all.push_back("-" + name);
  for (std::string const& name : o.get_lnames()) all.push_back("--" + name);
  return all;
}

bool takes_value(CLI::Option const& o) { return o.get_items_expected_max() > 0; }

// Splits `cells` at `separator`.
std::vector<std::string> split(std::string_view cells, char separator) {
  std::vector<std::string> all;
  for (;; cells.remove_prefix(cells.find(separator) + 1)) {
    all.emplace_back(cells.substr(0, cells.find(separator)));
    if (cells.find(separator) == std::string_view::npos) return all;
  }
}

// The words that an option takes, if they are a few: from FORMAT:{csv,json} or one|two, or the
// catalog's.
std::vector<std::string> words_of(CLI::Option const& o) {
  std::string const type = o.get_type_name();
  if (auto const open = type.find('{'); open != std::string::npos)
    return split(std::string_view(type).substr(open + 1, type.rfind('}') - open - 1), ',');
  if (type.find('|') != std::string::npos) return split(type, '|');
  std::vector<std::string> names;
  if (type == "NAME")
    for (ashlar::catalog::entry const* e : ashlar::catalog::all_entries) names.emplace_back(e->name);
  return names;
}

std::string joined(std::vector<std::string> const& words, char const* between) {
  std::string text;
  for (std::string const& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

// Escapes text so that troff takes it neither for requests nor minus signs for hyphens.
std::string escaped(std::string_view text) {
  std::string out;
  for (char const c : text) {
    bool const starts = out.empty() || out.back() == '\n';
    if (starts && (c == '.' || c == '\'')) out += "\\&";
    out += c == '\\' ? "\\e" : c == '-' ? "\\-" : std::string(1, c);
  }
  return out;
}

std::string manual_of(CLI::Option const& o) {
  std::vector<std::string> flags = flags_of(o);
  bool const positional = flags.empty();
  if (positional) flags = {o.get_name()};
  std::string text = ".TP\n\\fB" + escaped(joined(flags, ", ")) + "\\fR";
  std::vector<std::string> const words = words_of(o);
  if (takes_value(o) && !positional) {
    std::string const type = o.get_type_name();
    bool const listed = !words.empty() && type != "NAME";
    text += " \\fI" + escaped(listed ? joined(words, "|") : type) + "\\fR";
  }
  text += "\n" + escaped(o.get_description());
  if (!o.get_default_str().empty()) text += escaped(" (default: " + o.get_default_str() + ")");
  return text + "\n";
}

// A word in single quotes for a shell.
std::string shell_word(std::string_view text) {
  std::string out = "'";
  for (char const c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace

std::string manual_page(CLI::App const& app) {
  std::string text = fmt::format(
      ".TH ASHLAR 1 \"\" \"ashlar {}\" \"User Commands\"\n.SH NAME\nashlar \\- {}\n.SH SYNOPSIS\n"
      ".B ashlar\n\\fICOMMAND\\fR [\\fIOPTION\\fR]...\n.SH COMMANDS\n",
      ASHLAR_VERSION, escaped(app.get_description()));
  for (CLI::App const* const command : commands_of(app)) {
    text += ".SS " + escaped(command->get_name()) + "\n" + escaped(command->get_description()) + ".\n";
    for (CLI::Option const* const o : options_of(*command)) text += manual_of(*o);
    if (!command->get_footer().empty())
      text += ".PP\n.nf\n" + escaped(command->get_footer()) + "\n.fi\n";
  }
  return text + ".SH NOTES\n.nf\n" + escaped(app.get_footer()) + "\n.fi\n";
}

std::string bash_completion(CLI::App const& app) {
  std::vector<std::string> names;
  std::string cases;
  for (CLI::App const* const command : commands_of(app)) {
    names.push_back(command->get_name());
    std::vector<std::string> flags, positional;
    std::string values;
    for (CLI::Option const* const o : options_of(*command)) {
      std::vector<std::string> const own = flags_of(*o), words = words_of(*o);
      flags.insert(flags.end(), own.begin(), own.end());
      if (own.empty()) positional = words;
      if (own.empty() || !takes_value(*o)) continue;
      values += fmt::format("        {}) words={}; given=yes ;;\n", joined(own, "|"),
                            shell_word(joined(words, " ")));
    }
    cases += fmt::format(
        "    {})\n      flags={}\n      words={}\n      case $previous in\n{}      esac ;;\n",
        command->get_name(), shell_word(joined(flags, " ")), shell_word(joined(positional, " ")),
        values);
  }
  return fmt::format(
      "# bash completion for ashlar\n"
      "_ashlar() {{\n"
      "  local word=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} flags= words= "
      "given=\n"
      "  COMPREPLY=()\n"
      "  if ((COMP_CWORD == 1)); then\n"
      "    COMPREPLY=($(compgen -W '{} --help --version' -- \"$word\"))\n"
      "    return\n"
      "  fi\n"
      "  case ${{COMP_WORDS[1]}} in\n{}  esac\n"
      "  if [[ -z $given && $word == -* ]]; then words=$flags; fi\n"
      "  if [[ -n $words ]]; then COMPREPLY=($(compgen -W \"$words\" -- \"$word\")); fi\n"
      "}}\n"
      "complete -o bashdefault -o default -F _ashlar ashlar\n",
      joined(names, " "), cases);
}

std::string zsh_completion(CLI::App const& app) {
  // Colons and brackets have a meaning in a specification.
  auto const plain = [](std::string_view text) {
    std::string out;
    for (char const c : text)
      out += c == '[' ? "(" : c == ']' ? ")" : c == ':' ? "\\:" : std::string(1, c);
    return out;
  };
  std::string commands, cases;
  for (CLI::App const* const command : commands_of(app)) {
    commands +=
        "    " + shell_word(command->get_name() + ":" + plain(command->get_description())) + "\n";
    cases += "    " + command->get_name() + ")\n      _arguments";
    for (CLI::Option const* const o : options_of(*command)) {
      std::vector<std::string> const own = flags_of(*o), words = words_of(*o);
      std::string const completed = words.empty() ? "_files" : "(" + joined(words, " ") + ")";
      std::string const value = ":" + plain(o->get_name()) + ":" + completed;
      if (own.empty()) cases += " \\\n        " + shell_word("*" + value);
      for (std::string const& flag : own)
        cases += " \\\n        "
                 + shell_word(flag + "[" + plain(o->get_description()) + "]"
                              + (takes_value(*o) ? value : ""));
    }
    cases += " ;;\n";
  }
  return fmt::format(
      "#compdef ashlar\n"
      "local -a commands\n"
      "commands=(\n{})\n"
      "if ((CURRENT == 2)); then\n"
      "  _describe command commands\n"
      "else\n"
      "  shift words\n"
      "  ((CURRENT--))\n"
      "  case ${{words[1]}} in\n{}  esac\n"
      "fi\n",
      commands, cases);
}

std::string fish_completion(CLI::App const& app) {
  // A quoted string of fish, where single quotes have no escape but \\' and \\\\.
  auto const quoted = [](std::string_view text) {
    std::string out = "'";
    for (char const c : text) out += (c == '\'' || c == '\\' ? "\\" : "") + std::string(1, c);
    return out + "'";
  };
  std::string text = "# fish completion for ashlar\n";
  for (CLI::App const* const command : commands_of(app)) {
    std::string const& name = command->get_name();
    text += fmt::format("complete -c ashlar -n __fish_use_subcommand -f -a {} -d {}\n", name,
                        quoted(command->get_description()));
    for (CLI::Option const* const o : options_of(*command)) {
      std::vector<std::string> const words = words_of(*o);
      std::string line = fmt::format("complete -c ashlar -n '__fish_seen_subcommand_from {}'", name);
      for (std::string const& flag : o->get_snames()) line += " -s " + flag;
      for (std::string const& flag : o->get_lnames()) line += " -l " + flag;
      bool const is_positional = flags_of(*o).empty();
      if (is_positional && words.empty()) continue;
      if (!is_positional && takes_value(*o)) line += words.empty() ? " -r" : " -x";
      if (!words.empty()) line += " -a " + quoted(joined(words, " "));
      text += line + " -d " + quoted(is_positional ? o->get_name() : o->get_description()) + "\n";
    }
  }
  return text;
}

}  // namespace tool
