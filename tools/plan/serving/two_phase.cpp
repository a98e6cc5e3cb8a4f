#include <ashlar/core/cost.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/model/placement.hpp>
#include <ashlar/plan/serving/two_phase.hpp>
#include <ashlar/schedule/squeeze.hpp>

#include <cstddef>
#include <utility>

namespace ashlar {

diagnosis check(two_phase const& shape) {
  for (int count : {shape.prefills, shape.groups})
    if (count < 1) return {.broken = rule::counts_are_positive, .number = count};
  if (shape.tokens < 0) return {.broken = rule::counts_are_positive, .number = shape.tokens};
  return {};
}

namespace {

void must_be_counted(two_phase const& shape, tick p) {
  must_be(check(shape));
  if (p < 1) refuse({.broken = rule::counts_are_positive, .number = p});
  tick const of_one = saturating_sum(shape.prefills, saturating_product(shape.tokens, shape.groups));
  must_be(at_most(parameter::micro_batch_count, saturating_product(p, of_one), most_passes));
}

}  // namespace

stage_graph two_phase_graph(two_phase const& shape, int p) {
  must_be_counted(shape, p);
  std::vector<stage_edge> edges;
  int const last = p - 1;
  for (int i = 0; i < shape.prefills_of_unit(); ++i) {
    for (int d = 0; d < last; ++d)
      edges.push_back({shape.prefill_stage(p, i, d), shape.prefill_stage(p, i, d + 1)});
    for (int g = 0; g < shape.groups_of_unit() && shape.tokens > 0; ++g)
      if (shape.share_samples(i, g))
        edges.push_back({shape.prefill_stage(p, i, last), shape.decode_stage(p, 0, g, 0)});
  }
  for (int t = 0; t < shape.tokens; ++t)
    for (int g = 0; g < shape.groups_of_unit(); ++g) {
      for (int d = 0; d < last; ++d)
        edges.push_back({shape.decode_stage(p, t, g, d), shape.decode_stage(p, t, g, d + 1)});
      if (t + 1 < shape.tokens)
        edges.push_back({shape.decode_stage(p, t, g, last), shape.decode_stage(p, t + 1, g, 0)});
    }
  return stage_graph(stages{shape.stage_count(p)}, edges);
}

schedule two_phase_schedule(two_phase const& shape, std::vector<phase_times> const& by_device,
                            tick transfer) {
  must_be_counted(shape, static_cast<tick>(by_device.size()));
  for (phase_times const& each : by_device)
    for (tick time : {each.prefill, each.decode})
      if (time < 1) refuse({.broken = rule::no_duration_is_negative, .number = time});
  int const p = static_cast<int>(by_device.size());
  std::vector<stage_cost> each;
  for (int s = 0; s < shape.stage_count(p); ++s) {
    phase_times const& times = nth(by_device, s % p);
    each.push_back({.forward = shape.is_prefill(p, s) ? times.prefill : times.decode});
  }
  std::vector<std::vector<time_slot>> order(by_device.size());
  auto const add = [&](int device, int stage, int unit) {
    nth(order, device).push_back({{pass_kind::forward, stage, unit}, 0});
  };
  for (int d = 0; d < p; ++d) {
    for (int u = 0; u < shape.units(); ++u)
      for (int i = 0; i < shape.prefills_of_unit(); ++i) add(d, shape.prefill_stage(p, i, d), u);
    for (int t = 0; t < shape.tokens; ++t)
      for (int u = 0; u < shape.units(); ++u)
        for (int g = 0; g < shape.groups_of_unit(); ++g) add(d, shape.decode_stage(p, t, g, d), u);
  }
  return squeeze(schedule{
      .graph = two_phase_graph(shape, p),
      .where = make_placement(devices{p}, stages{shape.stage_count(p)}, [p](int s) { return s % p; }),
      .route = std::vector<int>(static_cast<std::size_t>(shape.units()), 0),
      .cost = costs(each, transfer),
      .order = std::move(order),
      .mode = execution_mode::inference});
}

two_phase_estimate two_phase_formula(two_phase const& shape, std::vector<phase_times> const& by_device) {
  if (diagnosis const d = check(shape); !d.ok()) refuse(d);
  two_phase_estimate sum;
  phase_times slowest{0, 0};
  for (phase_times const& each : by_device) {
    for (tick time : {each.prefill, each.decode})
      if (time < 0) refuse({.broken = rule::no_duration_is_negative, .number = time});
    sum.prefill = saturating_sum(sum.prefill, each.prefill);
    sum.decode = saturating_sum(sum.decode, each.decode);
    slowest = {max_of(slowest.prefill, each.prefill), max_of(slowest.decode, each.decode)};
  }
  tick const rounds = saturating_product(shape.groups - 1, shape.tokens);
  return {saturating_sum(sum.prefill, saturating_product(shape.prefills - 1, slowest.prefill)),
          saturating_sum(sum.decode, saturating_product(rounds, slowest.decode))};
}

}  // namespace ashlar
