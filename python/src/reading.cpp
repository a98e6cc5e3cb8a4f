// Schedules, blocks and costs out of JSON.
#include "bindings.hpp"
#include <ashlar/interop/json_costs.hpp>
#include <ashlar/interop/json_schedule.hpp>

#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>

#include <string>
#include <utility>
#include <variant>

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
}

}  // namespace python
