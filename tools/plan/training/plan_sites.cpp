#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/plan/training/plan_sites.hpp>

#include <cstdint>

namespace ashlar {

int used_of(plan_question const& q, training_plan const& plan, int kind) {
  int all = 0;
  for (int each : plan.kinds) all += nth(q.kinds, each).count;
  return static_cast<int>(static_cast<std::int64_t>(nth(q.kinds, kind).count) * plan.device_count()
                          / all);
}

std::vector<int> kinds_of_device(plan_question const& q, training_plan const& plan, int device) {
  int const size = plan.layout.tensor * plan.layout.data;
  std::vector<int> made;
  int first = 0;
  for (int kind : plan.kinds) {
    int const end = first + used_of(q, plan, kind);
    if (first < (device + 1) * size && device * size < end) made.push_back(kind);
    first = end;
  }
  return made;
}

device_kind device_of_pipeline(plan_question const& q, training_plan const& plan, int device) {
  std::vector<int> const members = kinds_of_device(q, plan, device);
  device_kind made = nth(q.kinds, members[0]);
  for (int each : members) made = slowest(made, nth(q.kinds, each));
  return made;
}

double link_between(plan_question const& q, training_plan const& plan, int a, int b) {
  std::vector<int> const own = kinds_of_device(q, plan, a), other = kinds_of_device(q, plan, b);
  device_machine const m =
      slowest(device_of_pipeline(q, plan, a), device_of_pipeline(q, plan, b)).machine;
  if (own.size() == 1 && own == other) return outer_link(plan.layout, m);
  return q.between_kinds > 0 ? min_of(m.between, q.between_kinds) : m.between;
}

std::vector<stage_site> sites_of(plan_question const& q, training_plan const& plan) {
  placement const where = placement_of(plan);
  std::vector<stage_site> made, of_device;
  int const p = where.device_count();
  for (int d = 0; d < p; ++d) {
    device_kind const kind = device_of_pipeline(q, plan, d);
    double const link = link_between(q, plan, d, d);
    of_device.push_back({kind.machine, kind.constants, link, link});
  }
  for (int stage = 0; stage < where.stage_count(); ++stage) {
    int const d = where.device_of(0, stage);
    made.push_back(nth(of_device, d));
    if (stage + 1 < where.stage_count() && plan.kinds.size() > 1)
      made.back().next = link_between(q, plan, d, where.device_of(0, stage + 1));
  }
  return made;
}

std::vector<double> budgets_of(plan_question const& q, training_plan const& plan) {
  std::vector<double> made;
  for (int d = 0; d < plan.layout.pipeline; ++d)
    made.push_back(q.budget(device_of_pipeline(q, plan, d).machine));
  return made;
}

double mean_flops(plan_question const& q, training_plan const& plan) {
  double const first = nth(q.kinds, plan.kinds[0]).machine.flops;
  double more = 0;
  for (int kind : plan.kinds)
    more += (nth(q.kinds, kind).machine.flops - first) * used_of(q, plan, kind);
  return first + more / plan.device_count();
}

}  // namespace ashlar
