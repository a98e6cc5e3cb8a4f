#include "report/trace_comparison.hpp"

#include "command.hpp"
#include "report/counted.hpp"
#include "report/printed.hpp"
#include "report/table.hpp"
#include <ashlar/program/names.hpp>
#include <ashlar/render/chrome_trace.hpp>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <tuple>
#include <utility>

namespace tool {

namespace {

using ashlar::tick;
using pass_key = std::tuple<int, int, int, int>;  // device, stage, kind, micro-batch

std::map<pass_key, ashlar::trace_event const*> passes_of(trace_file const& file, int device_count) {
  std::map<pass_key, ashlar::trace_event const*> all;
  for (ashlar::trace_event const& e : file.events) {
    if (!e.what || e.device >= device_count) continue;
    pass_key const key{e.device, e.what->stage, static_cast<int>(e.what->kind), e.what->micro_batch};
    if (!all.emplace(key, &e).second)
      throw usage_error(
          fmt::format("'{}' has {} on device {} twice; give one step", file.path, e.name, e.device));
  }
  return all;
}

// Throws usage_error for the first pass that `other` lacks.
void must_have(std::map<pass_key, ashlar::trace_event const*> const& some, trace_file const& file,
               std::map<pass_key, ashlar::trace_event const*> const& others, trace_file const& other) {
  for (auto const& [key, e] : some)
    if (others.count(key) == 0)
      throw usage_error(fmt::format("'{}' has {} on device {}, which '{}' lacks", file.path, e->name,
                                    e->device, other.path));
}

std::string ms(tick ns) { return fmt::format("{:.3f}", static_cast<double>(ns) * 1e-6); }
std::string signed_ms(tick ns) { return fmt::format("{:+.3f}", static_cast<double>(ns) * 1e-6); }

// Says in words what a pass adds to the difference.
std::string cause_of(ashlar::path_difference const& p) {
  std::string const name = to_string(p.what);
  bool const waits = std::abs(p.later) > std::abs(p.longer);
  tick const main = waits ? p.later : p.longer;
  std::string words =
      waits ? fmt::format("device {} waited {} before {}", p.device, main > 0 ? "longer" : "less", name)
            : fmt::format("{} on device {} took {}", name, p.device, main > 0 ? "longer" : "less");
  tick const rest = p.sum() - main;
  if (std::abs(rest) >= 500)  // what shows in three decimals
    words +=
        fmt::format(" ({} ms), and {} {}", signed_ms(main), waits ? "took" : "waited", signed_ms(rest));
  return words;
}

}  // namespace

trace_comparison compared(trace_file measured, trace_file planned, int most) {
  trace_comparison c{.measured = std::move(measured), .planned = std::move(planned)};
  int const device_count = c.planned.device_count;
  auto const were = passes_of(c.measured, device_count), are = passes_of(c.planned, device_count);
  must_have(were, c.measured, are, c.planned);
  must_have(are, c.planned, were, c.measured);
  int stages = 0, micro_batches = 0;
  for (auto const& [key, m] : were) {
    ashlar::trace_event const& p = *are.at(key);
    stages = std::max(stages, m->what->stage + 1);
    micro_batches = std::max(micro_batches, m->what->micro_batch + 1);
    c.passes.push_back({*m->what, m->device, m->start, m->end, p.start, p.end});
    c.measured_ns = std::max(c.measured_ns, m->end);
    c.planned_ns = std::max(c.planned_ns, p.end);
  }
  if (static_cast<double>(stages) * micro_batches > static_cast<double>(c.passes.size()))
    throw usage_error(fmt::format("'{}' lacks passes: it names {} and {}, and has {}", c.measured.path,
                                  counted(stages, "stage"), counted(micro_batches, "micro-batch"),
                                  counted(static_cast<long long>(c.passes.size()), "pass")));
  c.path = ashlar::path_of_difference(c.passes, stages, micro_batches);
  for (ashlar::paired_pass const& p : c.passes)
    if (p.what == c.path.back().what) c.planned_end = p.planned_end;
  c.named = c.path;
  std::stable_sort(c.named.begin(), c.named.end(),
                   [](auto const& a, auto const& b) { return std::abs(a.sum()) > std::abs(b.sum()); });
  c.named.resize(std::min(c.named.size(), static_cast<std::size_t>(most)));
  return c;
}

std::string text_of(trace_comparison const& c) {
  tick const difference = c.measured_ns - c.planned_ns;
  std::string text = fmt::format(
      "measured    {:>10} ms, '{}'\nplanned     {:>10} ms, '{}'\ndifference  {:>10} ms, {} %\n",
      ms(c.measured_ns), c.measured.path, ms(c.planned_ns), c.planned.path, signed_ms(difference),
      percent(static_cast<double>(difference) / static_cast<double>(std::max<tick>(1, c.planned_ns)),
              1));
  if (c.measured.device_count > c.planned.device_count)
    text += fmt::format("{} of the measured timeline are other ranks' and left out\n",
                        counted(c.measured.device_count - c.planned.device_count, "device"));
  std::vector<std::vector<std::string>> rows{{"device", "computes, ms", "planned", "difference"}};
  std::vector<std::pair<tick, tick>> busy(static_cast<std::size_t>(c.planned.device_count));
  for (ashlar::paired_pass const& p : c.passes) {
    busy[static_cast<std::size_t>(p.device)].first += p.end - p.start;
    busy[static_cast<std::size_t>(p.device)].second += p.planned_end - p.planned_start;
  }
  for (std::size_t d = 0; d < busy.size(); ++d)
    rows.push_back({std::to_string(d), ms(busy[d].first), ms(busy[d].second),
                    signed_ms(busy[d].first - busy[d].second)});
  text += "\n" + table(rows) + "\n";
  tick sum = 0;
  for (ashlar::path_difference const& p : c.named) sum += p.sum();
  tick const all = difference + (c.planned_ns - c.planned_end);
  text += fmt::format("of the {} on the measured longest path, these add {} ms of {}:\n",
                      counted(static_cast<long long>(c.path.size()), "pass"), signed_ms(sum),
                      signed_ms(all));
  for (ashlar::path_difference const& p : c.named)
    text += fmt::format("  {:>10} ms  {}\n", signed_ms(p.sum()), cause_of(p));
  if (c.planned_end != c.planned_ns)
    text += fmt::format("  {:>10} ms  the plan ends with another pass\n",
                        signed_ms(c.planned_end - c.planned_ns));
  return text;
}

std::string overlay_of(trace_comparison const& c) {
  using nlohmann::ordered_json;
  ordered_json events = ordered_json::array();
  auto const add = [&](trace_file const& file, int which, char const* name) {
    for (int d = 0; d < file.device_count; ++d)
      events.push_back({{"name", "process_name"},
                        {"ph", "M"},
                        {"pid", 2 * d + which},
                        {"tid", 0},
                        {"args", {{"name", fmt::format("device {}, {}", d, name)}}}});
    for (ashlar::trace_event const& e : file.events)
      events.push_back({{"name", e.name},
                        {"ph", "X"},
                        {"pid", 2 * e.device + which},
                        {"tid", e.lane},
                        {"cat", name},
                        {"ts", static_cast<double>(e.start) * 1e-3},
                        {"dur", static_cast<double>(e.end - e.start) * 1e-3}});
  };
  add(c.measured, 0, "measured");
  add(c.planned, 1, "planned");
  return dumped(ordered_json{{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}}) + "\n";
}

}  // namespace tool
