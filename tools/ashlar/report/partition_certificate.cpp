#include "report/partition_certificate.hpp"

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/nth.hpp>

#include <nlohmann/json.hpp>

#include <cstddef>
#include <vector>

namespace tool {

namespace {

using nlohmann::ordered_json;

ordered_json json_of(partition_question const& asked) {
  ordered_json operators = ordered_json::array(), edges = ordered_json::array();
  for (ashlar::operator_cost const& c : asked.model.cost)
    operators.push_back(
        {c.launch, c.forward, c.backward_input, c.backward_weight, c.weights, c.kept, c.output});
  for (int from = 0; from < asked.model.graph.count(); ++from)
    for (int to : asked.model.graph.successors(from)) edges.push_back({from, to});
  ordered_json made{{"certificate", "partition"},
                    {"schedule", asked.name},
                    {"operators", operators},
                    {"edges", edges},
                    {"devices", asked.machine.device_count},
                    {"samples", asked.batch.samples},
                    {"largest_micro_batch", asked.batch.largest_micro_batch}};
  if (asked.machine.memory != ashlar::max_tick) made["memory"] = asked.machine.memory;
  if (asked.machine.bandwidth > 0) made["bandwidth"] = asked.machine.bandwidth;
  return made;
}

// Ticks of the busiest device, or of the longest message if that takes more.
ashlar::tick longest_of(partition_question const& asked, ashlar::graph_plan const& plan) {
  std::vector<std::size_t> stage_of(asked.model.cost.size(), 0);
  for (std::size_t s = 0; s < plan.stages.size(); ++s)
    for (int o : plan.stages[s].operators) ashlar::nth(stage_of, o) = s;
  ashlar::tick longest = plan.time;
  for (int from = 0; from < asked.model.graph.count(); ++from)
    for (int to : asked.model.graph.successors(from))
      if (ashlar::nth(stage_of, from) != ashlar::nth(stage_of, to))
        longest = ashlar::max_of(longest, ashlar::message_time(ashlar::nth(asked.model.cost, from).output
                                                                   * asked.batch.samples,
                                                               asked.machine.bandwidth));
  return longest;
}

// All passes of all samples, and a launch for each of the largest micro-batches, shared by all devices.
ashlar::tick work_bound(partition_question const& asked) {
  int const samples = asked.batch.samples;
  ashlar::tick each = 0, launches = 0;
  int largest = 1;
  while (largest * 2 <= asked.batch.largest_micro_batch && samples % (largest * 2) == 0) largest *= 2;
  for (ashlar::operator_cost const& c : asked.model.cost) {
    each += c.forward + c.backward_input + c.backward_weight;
    launches += 2 * c.launch;
  }
  return (samples * each + samples / largest * launches + asked.machine.device_count - 1)
         / asked.machine.device_count;
}

}  // namespace

std::string certificate_of(partition_question const& asked, ashlar::graph_plan const& plan,
                           ashlar::graph_plan const& best) {
  ordered_json made = json_of(asked);
  made["stages"] = ordered_json::array();
  for (ashlar::planned_stage const& s : plan.stages)
    made["stages"].push_back({s.how.micro_batch, s.how.devices, s.operators});
  made["busiest"] = longest_of(asked, plan);
  made["least"] = best.is_exact ? longest_of(asked, best) : work_bound(asked);
  return made.dump();
}

std::string certificate_of_none(partition_question const& asked) { return json_of(asked).dump(); }

}  // namespace tool
