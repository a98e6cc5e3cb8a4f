// The module, and how violations become exceptions of Python's.
#include "bindings.hpp"
#include <ashlar/core/version.hpp>
#include <ashlar/interop/input_error.hpp>

#include <exception>
#include <string>

namespace python {

namespace {

void raise(nb::handle type, ashlar::diagnosis const& why, std::string const& text) {
  nb::object const error = type(nb::str(text.c_str()));
  auto const number_or_none = [](int number) {
    return number < 0 ? nb::none() : nb::object(nb::int_(number));
  };
  error.attr("rule") = nb::str(ashlar::sentence(why.broken));
  error.attr("device") = number_or_none(why.first.device);
  error.attr("position") = number_or_none(why.first.index);
  error.attr("number") = nb::int_(why.number);
  PyErr_SetObject(type.ptr(), error.ptr());
}

}  // namespace

NB_MODULE(_core, m) {
  nb::set_leak_warnings(false);  // what is left when Python ends is the modules' own
  m.doc() = "Pipeline schedules as values.";
  m.attr("__version__") = ashlar::version;
  auto const violation = nb::exception<ashlar::violation>(m, "Violation", PyExc_ValueError);
  violation.attr("__doc__") =
      "A rule is broken. `rule` is its sentence; `device` and `position` are where, and `number` by "
      "how much, if known.";
  nb::register_exception_translator(
      [](std::exception_ptr const& thrown, void* type) {
        try {
          std::rethrow_exception(thrown);
        } catch (refused const& e) {
          raise(static_cast<PyObject*>(type), e.why, e.text);
        } catch (ashlar::violation const& e) {
          raise(static_cast<PyObject*>(type), e.why, ashlar::explain(e.why));
        }
      },
      violation.ptr());
  nb::register_exception_translator([](std::exception_ptr const& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (ashlar::input_error const& e) {
      PyErr_SetString(PyExc_ValueError, e.what());
    }
  });
  bind_parts(m);
  bind_costs(m);
  bind_placements(m);
  bind_schedules(m);
  bind_own(m);
  bind_reading(m);
  bind_algebra(m);
  bind_catalog(m);
  bind_offload(m);
  bind_residency(m);
  bind_programs(m);
  bind_search(m);
  bind_micro_batches(m);
}

}  // namespace python
