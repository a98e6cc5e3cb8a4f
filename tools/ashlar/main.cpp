// ashlar: pipeline schedules at the command line.
#include "command.hpp"
#include "manual.hpp"
#include "options/kept_memory.hpp"
#include "options/memory_cap.hpp"
#include "report/build_words.hpp"
#include "report/command_help.hpp"
#include "report/printed.hpp"
#include <ashlar/interop/near_names.hpp>
#include <ashlar/render/diagnosis.hpp>

#include <fmt/core.h>

#include <cstdio>
#include <iostream>
#include <new>
#include <sstream>
#include <string>
#include <vector>

namespace {

// This avoids fmt, which throws where standard error cannot be written either.
int print_error(std::string const& message, int code = tool::unusable) {
  std::fputs(("ashlar: " + tool::printable_lines(message) + "\n").c_str(), stderr);
  return code;
}

// CLI11 alone would say that a subcommand is required.
void must_be_a_subcommand(CLI::App& app, std::string const& word) {
  std::vector<std::string> names;
  std::string known;
  for (CLI::App const* const command : app.get_subcommands({})) {
    if (word == command->get_name()) return;
    names.push_back(command->get_name());
    known += " " + command->get_name();
  }
  std::string const near = ashlar::did_you_mean(word, names);
  throw tool::usage_error("there is no subcommand '" + word.substr(0, 64) + "'"
                          + (near.empty() ? "; there are:" + known : near));
}

// For each word that looks like an option and is none, the option that may have been meant.
std::string meant_options(CLI::App const& app) {
  std::vector<std::string> names;
  for (CLI::App const* const command : app.get_subcommands())
    for (CLI::Option const* const option : command->get_options())
      for (std::string const& name : option->get_lnames()) names.push_back(name);
  std::string lines;
  for (std::string const& word : app.remaining(true)) {
    if (!word.starts_with("--")) continue;
    std::string const name = word.substr(2, word.find('=') - 2);
    if (std::string const near = ashlar::nearest_of(name, names); !near.empty())
      lines += "ashlar: '--" + name.substr(0, 64) + "': did you mean '--" + near + "'?\n";
  }
  return lines;
}

// Help is written by way of std::cout, all else by way of stdout.
void must_be_written() {
  if (!std::cout.flush() || std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    throw tool::usage_error("cannot write to standard output");
}

// Whether it trains on threads or devices, whose memory is not that of schedules.
bool trains(CLI::App const& app) {
  for (char const* each : {"train", "profile"})
    if (app.got_subcommand(each)) return true;
  return false;
}

int run(int argc, char** argv) {
  CLI::App app{"Pipeline-parallel schedules: show, export, check and run them.", "ashlar"};
  app.set_version_flag("--version", [] { return tool::build_words(); });
  app.require_subcommand(0, 1);
  std::string installed;
  app.add_option("--generate", installed, "what is installed beside the tool")
      ->check(CLI::IsMember({"man", "bash", "zsh", "fish"}))
      ->group("");  // for the build alone
  tool::action chosen;
  tool::add_list(app, chosen);
  tool::add_show(app, chosen);
  tool::add_emit(app, chosen);
  tool::add_compare(app, chosen);
  tool::add_search(app, chosen);
  tool::add_frontier(app, chosen);
  tool::add_tradeoff(app, chosen);
  tool::add_plan(app, chosen);
  tool::add_predict(app, chosen);
  tool::add_layout(app, chosen);
  tool::add_partition(app, chosen);
  tool::add_deal(app, chosen);
  tool::add_check(app, chosen);
  tool::add_simulate(app, chosen);
  tool::add_profile(app, chosen);
  tool::add_train(app, chosen);
  tool::add_trace_diff(app, chosen);
  tool::add_report(app, chosen);
  for (CLI::App* const command : app.get_subcommands({}))
    if (command->get_name() != "list") tool::add_memory_cap(*command);
  tool::add_examples_and_exits(app);
  if (argc > 1 && *argv[1] != '-') must_be_a_subcommand(app, argv[1]);
  try {
    app.parse(argc, argv);
  } catch (CLI::ParseError const& e) {
    std::ostringstream wrong;
    int const code = app.exit(e, std::cout, wrong);
    if (e.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError)) wrong << meant_options(app);
    std::fputs(tool::printable_lines(wrong.str()).c_str(), stderr);
    if (code != 0) return tool::unusable;
    must_be_written();
    return tool::done;
  }
  if (!installed.empty())
    chosen = [&] {
      fmt::print("{}", installed == "man"    ? tool::manual_page(app)
                       : installed == "bash" ? tool::bash_completion(app)
                       : installed == "zsh"  ? tool::zsh_completion(app)
                                             : tool::fish_completion(app));
      return tool::done;
    };
  if (!chosen) throw tool::usage_error("a subcommand is required; see `ashlar --help`");
  if (!trains(app)) tool::hold_memory_cap();
  int const code = chosen();
  must_be_written();
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    tool::keep_freed_memory();
    tool::command_line.assign(argv, argv + argc);
    return run(argc, argv);
  } catch (ashlar::violation const& e) {
    return print_error(ashlar::explain(e.why));
  } catch (tool::reported_elsewhere const& e) {
    return e.code;
  } catch (tool::agreed_error const& e) {
    return print_error(e.what(), e.code);
  } catch (tool::run_error const& e) {
    return print_error(e.what(), tool::failed);
  } catch (std::bad_alloc const&) {
    return print_error("this needs more memory; " + tool::words_of_cap());
  } catch (std::exception const& e) {
    return print_error(e.what());
  }
}
