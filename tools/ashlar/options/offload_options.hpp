// The options that say what leaves for the hosts of devices, and over which links.
#pragma once

#include "options/durations.hpp"
#include <ashlar/core/machine.hpp>
#include <ashlar/interop/durations.hpp>
#include <ashlar/model/memory_model.hpp>
#include <ashlar/schedule/schedule.hpp>
#include <ashlar/search/offload.hpp>

#include <CLI/CLI.hpp>

#include <map>
#include <string>

namespace tool {

struct host_options {
  int percent = 0;             // of what the forwards of a device keep
  std::string bandwidth = {};  // as given; empty: bytes take no time
  int shared_by = 1;           // devices
};

// Adds --offload; and --host-bandwidth with --host-shared-by and --host-slack, which goes among `times`.
void add_offload_option(CLI::App& command, host_options& options);
void add_host_link_options(CLI::App& command, host_options& options,
                           std::map<std::string, duration>& times);

// The link in bytes per tick of this scale. Throws usage_error if it is no bandwidth, or less than a
// byte per tick.
ashlar::host_link host_of(host_options const& options, ashlar::time_scale const& scale);

// The link that copies are planned for: each of them may take the slack of `times` longer.
ashlar::host_link planned_host(ashlar::host_link host, std::map<std::string, duration> const& times,
                               ashlar::time_scale const& scale);

// The values of a schedule that leave: the longest-lived first, no more than the link takes beside its
// passes.
ashlar::offload_options offload_of(host_options const& options, ashlar::schedule const& s,
                                   ashlar::memory_model memory, ashlar::host_link const& host);

// Plans for a program whose values have no sizes yet: copies take no time.
ashlar::offload_options offload_of(host_options const& options, ashlar::schedule const& s);

}  // namespace tool
