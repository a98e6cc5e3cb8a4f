#include "predict/measured_stages.hpp"

#include "command.hpp"
#include "files/costs_file.hpp"
#include "files/files.hpp"
#include "files/profile_files.hpp"
#include "files/trace_file.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

namespace tool {

namespace {

using ashlar::pass_kind;
using ashlar::cost::measured_stage;
using ashlar::cost::question;

constexpr double seconds_a_ns = 1e-9;

// Whether it is a list of events, or an object that has one.
bool is_trace(std::string const& path) {
  if (path == "-" || is_folder(path))
    return false;  // the one cannot be read twice, the other has no text
  std::string const text = read_text(path);
  std::size_t const first = text.find_first_not_of(" \t\r\n");
  return (first != std::string::npos && text[first] == '[')
         || (text.find("\"traceEvents\"") != std::string::npos
             && text.find("\"PP:") == std::string::npos);
}

void read_profile(std::string const& path, question& q) {
  costs_file const file = read_costs(path);
  double const tick = file.scale.tick_ns() * seconds_a_ns;
  file.cost.passes.for_each([&](int, int, ashlar::stage_cost const& c) {
    q.measured.stages.push_back(
        {.forward = tick * static_cast<double>(c.forward),
         .backward = tick * static_cast<double>(c.backward_input + c.backward_weight),
         .weights = tick * static_cast<double>(c.backward_weight)});
  });
  ashlar::interconnect const& links = file.cost.on.links;
  ashlar::tick const longest =
      std::max(links.inside.time_of(file.cost.message), links.between.time_of(file.cost.message));
  if (longest > 0) q.measured.transfer = tick * static_cast<double>(longest);
}

double median(std::vector<double>& all) {
  auto const middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::nth_element(all.begin(), middle, all.end());
  return *middle;
}

void read_events(std::string const& path, question& q) {
  trace_file const file = read_trace(path);
  struct stage_times {
    std::array<std::vector<double>, 4> of;  // forward, backward, its parts

    double at(std::size_t kind) { return of[kind].empty() ? 0 : median(of[kind]); }
  };
  std::vector<stage_times> stages;
  for (ashlar::trace_event const& e : file.events) {
    if (!e.what) continue;
    std::size_t const kind = e.what->kind == pass_kind::forward           ? 0
                             : e.what->kind == pass_kind::backward        ? 1
                             : e.what->kind == pass_kind::backward_input  ? 2
                             : e.what->kind == pass_kind::backward_weight ? 3
                                                                          : 4;
    if (kind == 4) continue;
    auto const stage = static_cast<std::size_t>(e.what->stage);
    if (stage >= file.events.size())
      throw usage_error(
          fmt::format("'{}': stage {} has passes, and not every stage before it", path, stage));
    if (stage >= stages.size()) stages.resize(stage + 1);
    stages[stage].of[kind].push_back(seconds_a_ns * static_cast<double>(e.end - e.start));
  }
  for (std::size_t s = 0; s < stages.size(); ++s) {
    double const forward = stages[s].at(0), whole = stages[s].at(1), input = stages[s].at(2),
                 weights = stages[s].at(3);
    bool const is_split = input > 0 && weights > 0;
    if (!(forward > 0) || !(is_split || whole > 0))
      throw usage_error(fmt::format("'{}': stage {} lacks a {}", path, s,
                                    forward > 0 ? "backward, whole or in its two parts" : "forward"));
    q.measured.stages.push_back({.forward = forward,
                                 .backward = is_split ? input + weights : whole,
                                 .weights = is_split ? weights : measured_stage::not_measured});
  }
}

}  // namespace

void read_measured_stages(std::string const& path, question& q) {
  if (is_trace(path))
    read_events(path, q);
  else
    read_profile(path, q);
}

}  // namespace tool
