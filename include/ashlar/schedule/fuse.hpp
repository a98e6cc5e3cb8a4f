// Input and weight passes of a schedule, fused to backwards.
#pragma once

#include <ashlar/block/algebra.hpp>  // for fuse_backward() without a value
#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/pipe.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/schedule/schedule.hpp>
#include <ashlar/schedule/squeeze.hpp>
#include <ashlar/schedule/tables.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace ashlar {

// The weight passes of a device, in their order.
constexpr dynamic_array<pass> weight_passes(std::vector<time_slot> const& order) {
  dynamic_array<pass> found;
  for (timed_pass const t : each_pass(order))
    if (t.what.kind == pass_kind::backward_weight) found.push_back(t.what);
  return found;
}

// The slot in which this pass is alone. O(slots). Throws violation{rule::every_pass_is_present} if there
// is none on this device.
constexpr std::size_t slot_of(std::vector<time_slot> const& order, std::size_t device,
                              pass const& what) {
  for (std::size_t i = 0; i < order.size(); ++i)
    if (order[i].what == what) return i;
  refuse({.broken = rule::every_pass_is_present,
          .first = {.device = static_cast<int>(device), .what = what}});
}

// Moves a weight pass up to its input pass, where both become a backward; both are alone. Starts stay as
// they are. O(slots of the device). Throws as slot_of() does.
constexpr void fuse_one(schedule& s, std::size_t device, pass const& weight) {
  std::vector<time_slot>& order = s.order[device];
  pass const input{pass_kind::backward_input, weight.stage, weight.micro_batch};
  std::size_t const from = slot_of(order, device, weight), to = slot_of(order, device, input);
  order[to].what.kind = pass_kind::backward;
  for (std::size_t i = from; i + 1 < order.size(); ++i) order[i] = order[i + 1];
  order.pop_back();
}

// The schedule with its input and weight passes alone: pairs of a forward with one of them are taken
// apart. Linear. Throws violation: check_form(s); rule::tables_agree for work of other systems, which
// may read one of the two passes and be read by the other.
constexpr schedule ready_to_fuse(schedule s) {
  must_have_form(s);
  if (!s.work.empty()) refuse({.broken = rule::tables_agree, .number = s.work.job_count()});
  for (auto& order : s.order) {
    std::vector<time_slot> apart;
    for (time_slot const& t : order)
      if (t.is_pair() && t.beside.kind != pass_kind::backward) {
        apart.push_back({t.what, t.start});
        apart.push_back({t.beside, t.start});
      } else {
        apart.push_back(t);
      }
    order = std::move(apart);
  }
  return s;
}

// Moves all weight passes up to their input passes and fuses them, even if that makes the schedule
// longer. The result is squeezed; a pair of a forward with an input or weight pass is taken apart.
// fuse_backward(split_backward(s)) == squeeze(s) for whole backwards. O(weight passes * slots of their
// device). Throws as ready_to_fuse(), fuse_one() and squeeze() do.
constexpr schedule fuse_backward(schedule s) {
  s = ready_to_fuse(std::move(s));
  for (std::size_t d = 0; d < s.order.size(); ++d)
    for (pass const& weight : weight_passes(s.order[d])) fuse_one(s, d, weight);
  return squeeze(std::move(s));
}

// Fuses weight passes where that is free: one after the other, if neither makespan nor span gets longer.
// No device holds more at once, because activations are freed no later. The result is squeezed; a pair
// of a forward with an input or weight pass is taken apart. O(weight passes * passes). Throws as
// fuse_backward() does.
constexpr schedule fuse_where_free(schedule s) {
  schedule best = squeeze(ready_to_fuse(std::move(s)));
  for (std::size_t d = 0; d < best.order.size(); ++d)
    for (pass const& weight : weight_passes(best.order[d])) {
      schedule tried = best;
      fuse_one(tried, d, weight);
      tried = squeeze(std::move(tried));
      if (makespan(tried) <= makespan(best) && span(tried) <= span(best)) best = std::move(tried);
    }
  return best;
}

constexpr auto fuse_where_free() {
  return closure([](auto&& s) { return fuse_where_free(std::forward<decltype(s)>(s)); });
}

}  // namespace ashlar
