#include <ashlar/core/algorithm.hpp>
#include <ashlar/cost/question/rank_questions.hpp>
#include <ashlar/cost/question/stack.hpp>
#include <ashlar/cost/question/stage_devices.hpp>
#include <ashlar/cost/step/exchanges.hpp>
#include <ashlar/cost/step/held_parameters.hpp>
#include <ashlar/cost/step/once_a_step.hpp>
#include <ashlar/cost/step/step.hpp>

#include <cmath>
#include <cstddef>

namespace ashlar::cost {

namespace step_detail {

inline device_seconds seconds_on(std::vector<int> const& stages,
                                 std::vector<double> const& micro_batches,
                                 std::vector<stage_passes> const& passes) {
  device_seconds d;
  for (int number : stages) {
    auto const s = static_cast<std::size_t>(number);
    d.all += micro_batches[s] * passes[s].seconds();
    d.forward += passes[s].forward.seconds();
    d.backward += passes[s].backward.seconds();
    d.largest = max_of(d.largest, passes[s].seconds());
  }
  return d;
}

// A plain program sums the gradient and gathers the weights of each matrix and norm of a layer
// separately: queries, keys and values, results, gates and values, outputs, and two norms.
inline constexpr double exchanges_of_a_layer = 2 * 6;

// Seconds by which the host is ahead of the device after its passes.
inline double queued(step_terms const& step) {
  double seconds = 0;
  for (std::size_t s = 0; s < step.of_stages.size(); ++s)
    for (pass_terms const* p : {&step.of_stages[s].forward, &step.of_stages[s].backward})
      seconds += step.micro_batches[s] * max_of(0.0, p->on_device() - p->host);
  return seconds;
}

}  // namespace step_detail

step_terms step_of(question const& q, std::vector<stage> const& stages, constants const& c,
                   uneven_rounds how) {
  step_terms r;
  std::vector<double> hidden;  // by device
  r.of_stages = passes_of(q, stages, c);
  r.run = execute(q, stages, r.of_stages, c);
  placement const where = placement_of(q);
  int const copies = where.route_count();
  std::vector<std::vector<int>> const here = stages_by_device(where);
  std::vector<double> const all_of_them(stages.size(), q.micro_batches());
  std::vector<device_seconds> devices;
  double all_largest = 0;
  for (std::size_t d = 0; d < here.size(); ++d) {
    devices.push_back(r.run.is_empty()
                          ? step_detail::seconds_on(here[d], all_of_them, r.of_stages)
                          : step_detail::seconds_on(here[d], r.run.micro_batches_on(static_cast<int>(d)),
                                                    r.of_stages));
    hidden.push_back(r.run.is_empty() ? 0 : r.run.hidden_on(static_cast<int>(d)));
    devices[d].all -= hidden[d];
    all_largest += devices[d].largest;
  }
  double const lost = c.straggler * std::log2(max_of(1.0, node_count(q.cluster)));
  rank_questions const on(q);
  // If passes are executed, the step ends for all devices at once; the busiest has the least bubble.
  bool const has_uneven = how == uneven_rounds::executed && has_uneven_rounds(q, r.of_stages),
             ends_at_once = has_uneven || !r.run.is_empty();
  double const last_end = has_uneven         ? interleaved_seconds(q, r.of_stages)
                          : r.run.is_empty() ? 0
                                             : r.run.seconds();
  double most = -1, longest_once = -1;
  for (std::size_t d = 0; d < here.size(); ++d) {
    double const passes = devices[d].all;
    double const bubble =
        ends_at_once ? max_of(0.0, last_end - passes) : all_largest - devices[d].largest;
    once_a_step const once =
        once_by_stages(on.of(static_cast<int>(d)), held_by_stages(q.model, q.layout, stages, here[d]),
                       stages, here[d], devices[d], copies, c);
    double const after = once.data + once.optimizer;
    double const total = ends_at_once ? passes : (passes + bubble) * (1 + lost) + after;
    if (total > most) {
      most = total;
      r.device = static_cast<int>(d);
      r.passes = passes;
      r.hidden = hidden[d];
      r.bubble = bubble;
    }
    if (ends_at_once ? after > longest_once : r.device == static_cast<int>(d)) {
      longest_once = after;
      r.data = once.data;
      r.optimizer = once.optimizer;
    }
  }
  r.stragglers = lost * (r.passes + r.bubble);
  if (r.run.is_empty()) {
    r.micro_batches.assign(stages.size(), 0);
    for (int number : here[static_cast<std::size_t>(r.device)])
      r.micro_batches[static_cast<std::size_t>(number)] = q.micro_batches();
  } else {
    r.micro_batches = r.run.micro_batches_on(r.device);
  }
  stack const s = stack_of(q);
  if (s.is_plain) {
    int trained = 0;
    for (int i = 0; i < q.model.layer_count(); ++i)
      trained += q.model.gradients_of(i, 0) != gradient_kind::all && !q.model.lora.are_any()
                         && q.model.alone == updated_alone::none
                     ? 0
                     : 1;
    for (tower const& each : q.model.towers)
      trained += q.model.trains(each) ? static_cast<int>(each.layers.size()) : 0;
    double const layers = 1.0 * trained / q.layout.pipeline;
    r.update = max_of(0.0, c.host_update * layers - step_detail::queued(r));
    if (q.layout.sharding == sharding::optimizer && !(s.facts.number(fact_number::bucket) > 0))
      r.data +=
          step_detail::exchanges_of_a_layer * layers
          * ring_seconds(on.of(r.device).cluster, q.layout, q.layout.sharing_ranks(), q.layout.tensor);
  }
  r.seconds = r.passes + r.bubble + r.stragglers + r.data + r.optimizer + r.update;
  return r;
}

}  // namespace ashlar::cost
