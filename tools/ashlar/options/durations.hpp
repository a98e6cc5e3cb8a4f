// Times as the command line has them.
#pragma once

#include <ashlar/core/ticks.hpp>
#include <ashlar/interop/durations.hpp>

#include <CLI/CLI.hpp>

#include <map>
#include <string>
#include <string_view>

namespace tool {

using ashlar::duration;
using ashlar::scale_of;
using ashlar::ticks_of;
using ashlar::time_scale;

// Calls ashlar::read_duration(); standard error says what is rounded, the first time in a run.
duration read_duration(std::string const& given_by, std::string_view text, long long least,
                       long long most = ashlar::max_tick);

// Says that a time, as it was written, is rounded, unless that was said before.
void report_rounded(std::string_view text);

// The option stores into `values`, under its flag.
CLI::Option* add_duration(CLI::App& command, char const* flag, std::map<std::string, duration>& values,
                          long long least, char const* help, long long most = ashlar::max_tick);

}  // namespace tool
