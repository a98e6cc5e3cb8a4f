#include <ashlar/plan/training/plan_question.hpp>

#include <cstdint>

namespace ashlar::plan_detail {

// Sums, products and doublings of plan counts must fit an int.
inline constexpr int most_layers = 1 << 17, most_devices_of_kind = 1 << 20, most_sequences = 1 << 24,
                     most_chunks = 1 << 10, most_kinds = 6;  // they have 1956 orders

struct counted {
  parameter which;
  std::int64_t given, least, most;
};

diagnosis check_counts(std::vector<counted> const& all) {
  for (counted const& c : all) {
    if (c.given < c.least)
      return {
          .broken = rule::parameter_is_at_least, .number = c.least, .which = c.which, .given = c.given};
    if (c.given > c.most)
      return {
          .broken = rule::parameter_is_at_most, .number = c.most, .which = c.which, .given = c.given};
  }
  return {};
}

struct figure {
  parameter which;
  double given;
  bool may_be_zero = false;
};

// Above 1e30, products of a few figures would leave the range of a double.
diagnosis check_figures(std::vector<figure> const& all) {
  for (figure const& f : all)
    if (!(f.given <= 1e30 && (f.given > 0 || (f.may_be_zero && f.given == 0))))
      return {.broken = rule::figures_are_in_range, .which = f.which};
  return {};
}

diagnosis check_kind(device_kind const& k) {
  if (diagnosis const d =
          check_counts({{parameter::device_count, k.count, 1, most_devices_of_kind},
                        {parameter::node_size, k.machine.node_size, 1, most_devices_of_kind}});
      !d.ok())
    return d;
  return check_figures({{parameter::device_figure, k.machine.flops},
                        {parameter::device_figure, k.machine.inside},
                        {parameter::device_figure, k.machine.between},
                        {parameter::device_figure, k.machine.memory},
                        {parameter::step_constant, k.constants.products},
                        {parameter::step_constant, k.constants.exchange, true}});
}

diagnosis check_model(transformer const& t) {
  if (diagnosis const d = check_counts({{parameter::layer_count, t.layers, 1, most_layers}}); !d.ok())
    return d;
  if (t.heads >= static_cast<double>(most_layers))  // it is divided as an int
    return {.broken = rule::figures_are_in_range, .which = parameter::model_size};
  return check_figures({{parameter::model_size, t.hidden},
                        {parameter::model_size, t.feed_forward},
                        {parameter::model_size, t.heads},
                        {parameter::model_size, t.key_value_heads, true},
                        {parameter::model_size, t.vocabulary, true},
                        {parameter::model_size, t.sequence},
                        {parameter::model_size, t.experts, true},
                        {parameter::model_size, t.experts_per_token},
                        {parameter::model_size, t.value_bytes}});
}

diagnosis check_list(listed_model const& list, int layer_count) {
  if (static_cast<std::int64_t>(list.layers.size()) != layer_count)
    return wrong_size(table::stage_costs, list.layers.size(), layer_count);
  if (diagnosis const d =
          check_counts({{parameter::tensor_rank_count, list.tensor, 1, most_devices_of_kind}});
      !d.ok())
    return d;
  for (int const percent : {list.causal.forward, list.causal.backward_input})
    if (percent < 0 || percent > 100) return {.broken = rule::sizes_fit, .number = percent};
  for (listed_layer const& each : list.layers)
    for (double const given :
         {each.passes.forward, each.passes.backward, each.parameters, each.kept, each.output})
      if (diagnosis const d = check_figures({{parameter::layer_figure, given, true}}); !d.ok()) return d;
  return {};
}

}  // namespace ashlar::plan_detail

namespace ashlar {

diagnosis check(plan_question const& q) {
  using namespace plan_detail;
  std::vector<counted> counts = {
      {parameter::device_kind_count, static_cast<std::int64_t>(q.kinds.size()), 1, most_kinds},
      {parameter::batch_size, q.batch, 1, most_sequences},
      {parameter::batch_size, q.largest_micro_batch, 1, most_sequences},
      {parameter::tensor_rank_count, q.tensor, 0, most_devices_of_kind}};
  for (int const v : q.chunks) counts.push_back({parameter::chunk_count, v, 1, most_chunks});
  for (int const n : q.sequence_chunks)
    counts.push_back({parameter::sequence_chunk_count, n, 1, most_chunks});
  if (diagnosis const d = check_counts(counts); !d.ok()) return d;
  if (q.kind >= static_cast<int>(q.kinds.size()))
    return check_counts(
        {{parameter::device_kind_count, q.kind, 0, static_cast<std::int64_t>(q.kinds.size()) - 1}});
  if (!(q.margin >= 0 && q.margin < 1))
    return {.broken = rule::figures_are_in_range, .which = parameter::memory_margin};
  if (diagnosis const d = check_model(q.model); !d.ok()) return d;
  for (listed_model const& list : q.lists)
    if (diagnosis const d = check_list(list, q.model.layers); !d.ok()) return d;
  for (device_kind const& k : q.kinds)
    if (diagnosis const d = check_kind(k); !d.ok()) return d;
  kept_widths const& w = q.widths;
  return check_figures({{parameter::device_figure, q.between_kinds, true},
                        {parameter::kept_width, w.whole, true},
                        {parameter::kept_width, w.split, true},
                        {parameter::kept_width, w.feed_forward, true},
                        {parameter::kept_width, w.scores, true},
                        {parameter::kept_width, w.input, true}});
}

placement placement_of(training_plan const& plan) {
  return lay_out(plan.entry->placed, devices{plan.layout.pipeline}, plan.chunks);
}

schedule passes_of(training_plan const& plan, int micro_batch_count) {
  catalog::shape s{.p = devices{plan.layout.pipeline}, .m = micro_batches{micro_batch_count}};
  s.v = chunks{plan.chunks};
  s.sequence_chunks = plan.sequence_chunks;
  if (plan.entry->uses(parameter::group_size)) s.group = plan.layout.pipeline;
  return plan.entry->make(s);
}

listed_model const* list_of(plan_question const& q, int tensor) {
  for (listed_model const& each : q.lists)
    if (each.tensor == tensor) return &each;
  return nullptr;
}

}  // namespace ashlar
