#include "options/link_option.hpp"

#include "command.hpp"
#include "options/number_option.hpp"

#include <fmt/core.h>

#include <string_view>

namespace tool {

namespace {

// Reads FROM-TO:TIME.
void read_link(std::string const& text, late_links& late, std::map<std::string, duration>& times) {
  auto const dash = text.find('-'), colon = text.find(':');
  int from = 0, to = 0;
  if (colon == std::string::npos || dash > colon
      || !read_number(std::string_view(text).substr(0, dash), from)
      || !read_number(std::string_view(text).substr(dash + 1, colon - dash - 1), to))
    throw usage_error(
        fmt::format("--link is FROM-TO:TIME, as in 2-3:60ms, not '{}'", text.substr(0, 64)));
  std::string const flag = late_links::flag_of(from, to);
  if (times.count(flag) > 0) throw usage_error(flag + " is given twice");
  times[flag] = read_duration(flag, std::string_view(text).substr(colon + 1), 0, ashlar::max_tick - 1);
  late.links.emplace_back(from, to);
}

}  // namespace

std::string late_links::flag_of(int from, int to) { return fmt::format("--link {}-{}", from, to); }

void add_link_option(CLI::App& command, late_links& late, std::map<std::string, duration>& times) {
  command
      .add_option_function<std::vector<std::string>>(
          "--link",
          [&late, &times](std::vector<std::string> const& all) {
            for (std::string const& each : all) read_link(each, late, times);
          },
          "FROM-TO:TIME: each transfer from one device to another takes this much longer; may be given "
          "for several links")
      ->type_name("LINK");
}

void delay_links(ashlar::interconnect& links, late_links const& late,
                 std::map<std::string, duration> const& times, time_scale const& scale) {
  for (auto const& [from, to] : late.links)
    delay_link(links, from, to, ticks_of(times.at(late_links::flag_of(from, to)), scale));
}

void refuse_link(int from, int to) {
  throw usage_error(fmt::format("{} has no effect: no transfer goes from device {} to device {}",
                                late_links::flag_of(from, to), from, to));
}

}  // namespace tool
