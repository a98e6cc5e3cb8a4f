// Blocks and schedules: what they are, what they come to, how they look.
#include "bindings.hpp"
#include <ashlar/bounds/lower_bound.hpp>
#include <ashlar/interop/json.hpp>
#include <ashlar/interop/pytorch_csv.hpp>
#include <ashlar/program/names.hpp>
#include <ashlar/render/chrome_trace.hpp>
#include <ashlar/render/html.hpp>
#include <ashlar/render/known_bound.hpp>
#include <ashlar/render/svg_block.hpp>
#include <ashlar/render/svg_schedule.hpp>
#include <ashlar/render/text.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/schedule/squeeze.hpp>
#include <ashlar/study/schedule_slack.hpp>

#include <nanobind/operators.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace python {

namespace {

using ashlar::block;
using ashlar::schedule;
using ashlar::tick;

// A pass of a schedule, as Python sees it.
struct placed_pass {
  ashlar::pass what;
  tick start = 0, end = 0;
  bool overlaps = false;
};

std::vector<std::vector<placed_pass>> order_of(schedule const& s) {
  std::vector<std::vector<placed_pass>> all;
  for (std::size_t d = 0; d < s.order.size(); ++d) {
    auto& line = all.emplace_back();
    for (ashlar::timed_pass const t : ashlar::each_pass(s.order[d]))
      line.push_back({t.what, t.start, s.end_of(t, static_cast<int>(d)), t.slot->is_pair()});
  }
  return all;
}

template <class Value>
std::string picture_of_value(Value const& v, std::string const& title, bool memory, bool transfers,
                             bool dark) {
  return ashlar::svg(v,
                     {.title = title,
                      .theme = dark ? ashlar::picture_theme::dark : ashlar::picture_theme::follow_reader,
                      .transfers = transfers,
                      .memory = memory});
}

std::string counts_of(schedule const& s) {
  return std::to_string(s.device_count()) + " devices, " + std::to_string(s.stage_count()) + " stages, "
         + std::to_string(s.micro_batch_count()) + " micro-batches";
}

// Throws ValueError with all problems of the file, each with its line and column.
schedule read_pytorch(std::string const& text) {
  ashlar::csv_schedule found = ashlar::read_pytorch_csv(text);
  std::string all;
  for (ashlar::csv_problem const& p : found.problems) all += (all.empty() ? "" : "\n") + to_string(p);
  if (!found.value) throw nb::value_error(all.c_str());
  return ashlar::squeeze(std::move(*found.value));
}

void bind_pass(nb::module_& m) {
  nb::class_<placed_pass>(m, "Pass", "A pass of a schedule, with its times.")
      .def_prop_ro(
          "kind", [](placed_pass const& p) { return kind_of(p.what); },
          "forward, recompute, backward, backward_input, backward_weight, or work.")
      .def_prop_ro(
          "letter", [](placed_pass const& p) { return std::string(1, ashlar::letter_of(p.what.kind)); },
          "F, R, B, I or W.")
      .def_prop_ro("stage", [](placed_pass const& p) { return p.what.stage; })
      .def_prop_ro("micro_batch", [](placed_pass const& p) { return p.what.micro_batch; })
      .def_ro("start", &placed_pass::start)
      .def_ro("end", &placed_pass::end)
      .def_prop_ro("overlapped", [](placed_pass const& p) { return p.overlaps; })
      .def("__repr__", [](placed_pass const& p) { return to_string(p.what); });
}

void bind_block(nb::module_& m) {
  nb::class_<block>(m, "Block", "A building block: the passes of one micro-batch, or of a small group.")
      .def_prop_ro("devices", [](block const& b) { return b.where.device_count(); })
      .def_prop_ro("stages", [](block const& b) { return b.where.stage_count(); })
      .def_prop_ro("micro_batches", &block::micro_batch_count)
      .def_prop_ro(
          "interval", [](block const& b) { return b.interval; }, "Ticks between repetitions.")
      .def_prop_ro("placement", [](block const& b) { return b.where; })
      .def_prop_ro("costs", [](block const& b) { return b.cost; })
      .def("check", &must_hold<block>, "Raises Violation unless every rule of blocks holds.")
      .def("svg", &picture_of_value<block>, nb::kw_only(), "title"_a = "", "memory"_a = false,
           "transfers"_a = false, "dark"_a = false, "A picture.")
      .def("_repr_svg_", [](block const& b) { return ashlar::svg(b, {}); })
      .def(
          "text", [](block const& b, int width) { return ashlar::text(b, {.width = width}); },
          "width"_a = 100, "A picture for a terminal.")
      .def(nb::self == nb::self, nb::sig("def __eq__(self, arg: object, /) -> bool"))
      .def("__repr__", [](block const& b) {
        return "<Block: " + std::to_string(b.where.device_count()) + " devices, "
               + std::to_string(b.where.stage_count()) + " stages, interval "
               + std::to_string(b.interval) + ">";
      });
}

}  // namespace

void bind_schedules(nb::module_& m) {
  bind_pass(m);
  bind_block(m);
  using ashlar::bound;
  nb::class_<bound>(m, "Bound",
                    "Ticks that no schedule of the same stages on the same devices is below.")
      .def_ro("makespan", &bound::makespan)
      .def_ro("span", &bound::span)
      .def("__repr__", [](bound const& b) {
        return "Bound(makespan=" + std::to_string(b.makespan) + ", span=" + std::to_string(b.span) + ")";
      });

  using ashlar::link_slack;
  nb::class_<link_slack>(m, "LinkSlack", "How late the transfers from one device to another may be.")
      .def_ro("from_device", &link_slack::from)
      .def_ro("to_device", &link_slack::to)
      .def_ro("transfers", &link_slack::transfers)
      .def_ro("slack", &link_slack::slack, "Ticks that each may take longer for the same makespan.")
      .def("__repr__", [](link_slack const& l) {
        return "LinkSlack(" + std::to_string(l.from) + " to " + std::to_string(l.to)
               + ", slack=" + std::to_string(l.slack) + ")";
      });

  nb::class_<schedule>(m, "Schedule", "Timed passes on each device, in order.")
      .def_prop_ro("devices", &schedule::device_count)
      .def_prop_ro("stages", &schedule::stage_count)
      .def_prop_ro("micro_batches", &schedule::micro_batch_count,
                   "Number of micro-batches; each chunk of a sequence counts as one.")
      .def_prop_ro("sequence_chunks", [](schedule const& s) { return s.graph.sequence_chunks(); })
      .def_prop_ro("placement", [](schedule const& s) { return s.where; })
      .def_prop_ro(
          "route", [](schedule const& s) { return s.route; }, "Route of each micro-batch.")
      .def_prop_ro("costs", [](schedule const& s) { return s.cost; })
      .def_prop_ro("order", &order_of, "The passes of each device.")
      .def_prop_ro(
          "makespan", [](schedule const& s) { return ashlar::makespan(s); },
          "Ticks from the first start to the last end.")
      .def_prop_ro(
          "span", [](schedule const& s) { return ashlar::span(s); },
          "The longest that any one device is in use.")
      .def_prop_ro(
          "busy", [](schedule const& s) { return ashlar::busy(s); }, "Ticks, by device.")
      .def_prop_ro("bubble_rate", [](schedule const& s) { return ashlar::bubble_rate(s); })
      .def_prop_ro(
          "overhead", [](schedule const& s) { return ashlar::overhead(s); },
          "The share of the makespan in which the busiest device idles or recomputes.")
      .def_prop_ro(
          "peak_activations", [](schedule const& s) { return ashlar::peak_activations(s); },
          "The most chunk activations that each device holds.")
      .def(
          "peak_memory",
          [](schedule const& s, given_memory const& stages) {
            ashlar::memory_model const memory = memory_of(stages);
            if (auto const d = ashlar::check(memory, s.stage_count(), s.micro_batch_count()); !d.ok())
              throw ashlar::violation{d};
            return ashlar::peak_memory(s, memory);
          },
          "stages"_a,
          "The most that each device holds: one StageMemory for all stages, or one each; where "
          "micro-batches differ, a list by micro-batch instead of each.")
      .def(
          "link_slacks", [](schedule const& s) { return ashlar::link_slacks(s); },
          "Of each link, how much later all its transfers may be before the makespan grows; every "
          "transfer takes its own time and none is in another's way.")
      .def("bound", &ashlar::known_bound, "None where none is known: stages that are no chain, work.")
      .def("check", &must_hold<schedule>, "Raises Violation unless every rule of schedules holds.")
      .def("svg", &picture_of_value<schedule>, nb::kw_only(), "title"_a = "", "memory"_a = false,
           "transfers"_a = false, "dark"_a = false, "A picture.")
      .def("_repr_svg_", [](schedule const& s) { return ashlar::svg(s, {}); })
      .def(
          "html",
          [](schedule const& s, std::string const& title) { return ashlar::html(s, {.title = title}); },
          "title"_a = "Pipeline schedule", "A page to explore it.")
      .def(
          "trace", [](schedule const& s) { return ashlar::chrome_trace(s); },
          "For chrome://tracing and Perfetto.")
      .def(
          "json",
          [](schedule const& s, std::string const& name) { return ashlar::to_json(s, name).dump(); },
          "name"_a = "", "Schedule, times and metrics, as the command-line tool reads them.")
      .def(
          "text", [](schedule const& s, int width) { return ashlar::text(s, {.width = width}); },
          "width"_a = 100, "A picture for a terminal.")
      .def(nb::self == nb::self, nb::sig("def __eq__(self, arg: object, /) -> bool"))
      .def("__repr__", [](schedule const& s) {
        return "<Schedule: " + counts_of(s) + ", makespan " + std::to_string(ashlar::makespan(s)) + ">";
      });
  m.def("read_pytorch", &read_pytorch, "text"_a,
        "The schedule of a compute-only CSV of PyTorch's, passes of one tick. Raises ValueError with "
        "line and "
        "column of what is wrong.");
}

}  // namespace python
