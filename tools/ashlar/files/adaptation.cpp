#include "files/adaptation.hpp"

#include "options/byte_options.hpp"
#include <ashlar/check/check.hpp>
#include <ashlar/optimize/improve.hpp>
#include <ashlar/prove/same_sums.hpp>
#include <ashlar/render/diagnosis.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/schedule/squeeze.hpp>
#include <ashlar/simulate/simulate.hpp>

#include <fmt/core.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tool {

namespace {

constexpr std::int64_t dispatched_passes = 10'000'000;  // about a second

std::size_t bytes_on(ashlar::program_view const& p, int device, value_bytes const& layout) {
  return ashlar::slot_layout(p, 0, device, layout).total;
}

// The fault that forbids to use it in place of the old one, or an empty text.
std::string fault_of(ashlar::program const& found, ashlar::program const& old,
                     value_bytes const& layout) {
  if (auto const d = ashlar::check(found); !d.ok()) return ashlar::explain(d);
  if (auto const d = ashlar::check_same_sums(old.view(), found.view()); !d.ok())
    return ashlar::explain(d);
  for (int device = 0; device < found.device_count(); ++device) {
    std::size_t const needs = bytes_on(found.view(), device, layout),
                      has = bytes_on(old.view(), device, layout);
    if (needs > has)
      return fmt::format("device {} would need {} for its slots instead of {}", device,
                         rounded_bytes(static_cast<ashlar::byte_count>(needs)),
                         rounded_bytes(static_cast<ashlar::byte_count>(has)));
  }
  return {};
}

}  // namespace

adaptation adapted(training const& t, ashlar::simulation_options const& machine,
                   value_bytes const& layout) {
  adaptation a{.before = ashlar::time_program(t.program, machine).makespan};
  a.after = a.before;
  ashlar::schedule const now = retime(t.schedule, schedule_costs(machine));
  if (!ashlar::can_be_improved(now)) {
    a.why = "no search changes recomputes, overlapped pairs and work";
    return a;
  }
  std::vector<ashlar::byte_count> held;
  for (int const peak : peak_activations(now)) held.push_back(peak);
  ashlar::schedule found =
      improve({now}, ashlar::chunk_activations(std::move(held)),
              {.passes = dispatched_passes, .seed = 1, .aim = ashlar::objective::makespan});
  ashlar::program program = program_of(*t.options, found, t.shape);
  ashlar::tick const after = ashlar::time_program(program, machine).makespan;
  if (after >= a.before) {
    a.why = "no order of its passes was found that takes less";
  } else if (std::string const fault = fault_of(program, t.program, layout); !fault.empty()) {
    a.why = "one that takes less is refused: " + fault;
  } else {
    a.after = after;
    a.schedule = std::move(found);
    a.program = std::move(program);
  }
  return a;
}

}  // namespace tool
