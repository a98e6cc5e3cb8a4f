// ashlar report: the facts that others need to look into a problem, and nothing else.
#include "command.hpp"
#include "files/files.hpp"
#include "report/build_words.hpp"
#include "report/counted.hpp"
#include "report/printed.hpp"

#include <fmt/core.h>
#include <gpt/crc32.hpp>
#include <sys/utsname.h>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace tool {

namespace {

struct report_options {
  std::vector<std::string> files;
  bool has_contents = false;
};

void report_machine() {
  utsname system{};
  fmt::print("{}\n", build_words());
  if (::uname(&system) == 0) fmt::print("on {} {}, ", system.sysname, system.machine);
  fmt::print("{}\n", counted(static_cast<long long>(std::thread::hardware_concurrency()), "processor"));
}

// A folder may reveal who somebody is, so a file goes by its last name alone.
void report_file(CLI::App const& command, std::string const& path, bool has_contents) {
  std::string const name = printable(std::filesystem::path(path).filename().string());
  std::string text;
  try {
    text = read_text(path);
  } catch (usage_error const&) {
    fmt::print("\n{}: cannot be read as text\n", name);
    return;
  }
  fmt::print("\n{}: {}, CRC-32 {:08x}\n", name, counted(static_cast<long long>(text.size()), "byte"),
             gpt::crc32(std::as_bytes(std::span(text))));
  try {
    check_text(command, name, text);
  } catch (usage_error const& e) {
    fmt::print("{}: no schedule: {}\n", name, printable_lines(e.what()));
  }
  if (has_contents)
    fmt::print("contents of {}:\n{}{}", name, printable_lines(text), text.ends_with('\n') ? "" : "\n");
}

int report(CLI::App const& command, report_options const& o) {
  report_machine();
  for (std::string const& each : o.files) report_file(command, each, o.has_contents);
  return done;
}

}  // namespace

void add_report(CLI::App& app, action& chosen) {
  auto* const command = app.add_subcommand(
      "report", "Print what helps to look into a problem: versions, the machine, files");
  auto const options = std::make_shared<report_options>();
  command
      ->add_option("files", options->files,
                   "schedules that have to do with it: size, checksum, and what `check` says of each")
      ->type_name("FILE ...");
  command->add_flag("--contents", options->has_contents, "also what is in the files");
  command->footer(
      "Nothing is sent anywhere. No folders, names of people or of the machine, and no variables of "
      "the\n"
      "environment are printed.");
  command->callback([&chosen, command, options] {
    chosen = [command, options] { return report(*command, *options); };
  });
}

}  // namespace tool
