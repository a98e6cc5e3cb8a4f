// The option that makes links slower: --link FROM-TO:TIME.
#pragma once

#include "options/durations.hpp"
#include <ashlar/core/machine.hpp>

#include <CLI/CLI.hpp>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tool {

// Links whose transfers take longer, by sender and receiver, each once.
struct late_links {
  std::vector<std::pair<int, int>> links = {};

  // The flag of a link's delay, as messages name it.
  static std::string flag_of(int from, int to);
};

// The option may be given several times. The delays go among `times`, by flag.
void add_link_option(CLI::App& command, late_links& late, std::map<std::string, duration>& times);

// Delays each link by its time, in ticks of that scale.
void delay_links(ashlar::interconnect& links, late_links const& late,
                 std::map<std::string, duration> const& times, time_scale const& scale);

// Throws usage_error for the first link for which is_taken(from, to) is false.
template <class IsTaken>
void must_be_taken(late_links const& late, IsTaken is_taken);
[[noreturn]] void refuse_link(int from, int to);

template <class IsTaken>
void must_be_taken(late_links const& late, IsTaken is_taken) {
  for (auto const& [from, to] : late.links)
    if (!is_taken(from, to)) refuse_link(from, to);
}

}  // namespace tool
