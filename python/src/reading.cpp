// Schedules, blocks and costs out of JSON.
#include "bindings.hpp"
#include <ashlar/interop/json_costs.hpp>
#include <ashlar/interop/json_profile.hpp>
#include <ashlar/interop/json_schedule.hpp>

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace python {

namespace {

using ashlar::block;
using ashlar::schedule;

std::variant<schedule, block> read_schedule(std::string text, std::string name) {
  ashlar::json_schedule read = ashlar::read_json_schedule(std::move(text), std::move(name));
  if (!read.rounded.empty()
      && PyErr_WarnEx(PyExc_UserWarning, ashlar::rounding_words(read.rounded).c_str(), 1) != 0)
    throw nb::python_error();
  if (read.block) {
    must_hold(*read.block);
    return std::move(*read.block);
  }
  must_hold(read.schedule);
  return std::move(read.schedule);
}

std::pair<ashlar::costs, double> read_costs(std::string text, std::string name) {
  ashlar::json_costs read = ashlar::read_json_costs(std::move(text), std::move(name));
  return {std::move(read.cost), read.scale.tick_ns()};
}

// Costs, nanoseconds of a tick, the text of a costs file, and warnings.
std::tuple<ashlar::costs, double, std::string, std::vector<std::string>> costs_of_profiles(
    std::vector<std::pair<std::string, std::string>> named_texts) {
  nb::gil_scoped_release const others_run;
  std::vector<ashlar::json_text> sources;
  for (auto& [name, text] : named_texts) sources.push_back(ashlar::parse_json(std::move(text), name));
  ashlar::json_profiled_costs made = ashlar::costs_of_profiles(sources);
  std::string text = made.costs.dump(1);
  ashlar::json_costs read = ashlar::read_json_costs(text);
  return {std::move(read.cost), read.scale.tick_ns(), std::move(text), std::move(made.warnings)};
}

}  // namespace

void bind_reading(nb::module_& m) {
  m.def("read_json", &read_schedule, "text"_a, "name"_a = "",
        "A schedule as `emit(schedule, \"json\")` and the command-line tool write it, or a building "
        "block, which has `cells`. Times with a unit or decimals become ticks, of which all are whole "
        "numbers. name: of the file, for messages. Raises ValueError with line, column and key for what "
        "is no such file, Violation for what breaks a rule.");
  m.def("read_costs", &read_costs, "text"_a, "name"_a = "",
        "The costs that `ashlar profile` has measured, and how many nanoseconds a tick of theirs is. "
        "name: of the file, for messages. Raises ValueError with line, column and key for what is no "
        "such file.");
  m.def(
      "costs_of_profiles", &costs_of_profiles, "named_texts"_a,
      "What PyTorch's profiler saw, of (name, text) of each rank's trace: costs, nanoseconds of a tick, "
      "the text of a costs file, and warnings. Raises ValueError with line, column and key for what is "
      "no such trace.");
}

}  // namespace python
