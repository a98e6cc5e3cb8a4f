// Schedules side by side: the same model on the same devices, in stages of each schedule's own.
#pragma once

#include <ashlar/bounds/workload.hpp>
#include <ashlar/catalog/entry.hpp>
#include <ashlar/core/part_costs.hpp>
#include <ashlar/core/sequence_costs.hpp>

#include <optional>
#include <vector>

namespace ashlar {

// How late the transfers from one device to another may be before the makespan grows.
struct compared_link {
  int from = 0;
  int to = 0;
  int transfers = 0;
  double slack = 0;  // link_slacks(schedule), in ticks of the model

  friend bool operator==(compared_link const&, compared_link const&) = default;
};

// The results of one schedule for a model. Ticks are those of the model that is compared; stages of
// another size take their share of it.
struct comparison {
  placement where = {};
  int device_count = 0;
  int stage_count = 0;
  int micro_batch_count = 0;  // as the schedule counts them: sequence chunks are on their own
  double makespan = 0;
  double span = 0;
  std::optional<double> makespan_of_parts = {};  // time_parts(), if parts are known
  double bubble_rate = 0;                        // of the makespan
  double bubble_rate_span = 0;                   // of the span
  double overhead = 0;                           // of the makespan: recomputation counts as well
  double overhead_span = 0;                      // of the span
  std::vector<double> peaks = {};    // most that each device holds, as a share of the most that one of
                                     // 1F1B does: p micro-batches of a p-th of the model
  double weight_copies = 0;          // of the whole model, on all devices together
  int transfers = 0;                 // between devices, in a step
  double exposed_communication = 0;  // how much shorter the makespan would be without transfer times
  std::vector<compared_link> links = {};  // that transfers take, by sender and receiver
  bool trains = true;
  bool has_task = false;
  workload task = {};  // the workload of the bound, if there is one
  schedule made = {};  // in ticks of the task
  tick unit = 1;       // ticks of the task in one of the above
};

// A model in consecutive pieces of equal size. `cost` has the ticks of a micro-batch on a piece, one
// entry for all or one each: then there are as many pieces. Where it tells the chunks of a sequence
// apart, it has those of each, for schedules in as many chunks. An overlapped pair is one of two pieces.
struct divided_model {
  costs cost = {};
  int piece_count = 1;       // where costs are alike
  int kept_percent = 100;    // left of an activation until a recompute runs
  causal_share causal = {};  // makes later sequence chunks take longer, unless costs differ by chunk
  part_costs parts = {};     // if there are any: what the passes of the pieces consist of, of as many
                             // pieces as `cost` is; pairs follow from these
};

// A lower bound for all schedules of the same stages on the same devices, with the memory of the one
// that is compared. Apart from `compare` because it takes longer.
struct compared_bound {
  double makespan = 0, span = 0;
};
std::optional<compared_bound> comparison_bound(comparison const& c);

// Messages between devices in a step. Throws violation with check_tables(s). Linear in micro-batches
// times edges.
int count_transfers(schedule const& s);

// How many times the devices hold the whole model's weights; 0 without stages.
double count_weight_copies(placement const& where);

// Costs of a schedule's stages, in ticks of which `unit` are one of the model's.
struct stage_costs {
  costs cost;
  tick unit = 1;
  part_costs parts = {};  // if they are known: of the stages
};

// The costs of the stages of `s` where they share the model equally and take each of its micro-batches
// in `parts` parts, on p devices; the costs of `s` itself are not used. Throws violation as compare(s,
// model), and rule::counts_are_positive for fewer parts than sequences have chunks.
stage_costs costs_of_stages(divided_model const& model, schedule const& s, int parts, devices p);

// Those of n stages that take whole micro-batches. Throws likewise.
stage_costs costs_of_stages(divided_model const& model, stages n, devices p);

namespace study_detail {

// Checks that costs of whole sequences are for all; those of chunks for as many chunks, and for whole
// sequences.
diagnosis check_sequence_chunk_count(costs const& cost, int sequence_chunks);

// The peak of each device. Stages that recompute keep a part of their activations until then.
std::vector<double> peaks_of(schedule const& s, int parts, int kept_percent);

}  // namespace study_detail

// Compares a schedule of one's own, put under the model's costs in its order. Throws violation as retime
// does, rule::tables_agree for costs of another number of chunks than sequences are in, and for errors
// in the model: rule::bound_is_for_a_chain for stages that are not consecutive pieces of it, such as the
// shards of a layer; as check(costs) does, rule::counts_are_positive, rule::parameter_is_at_most for
// more than most_stages pieces, rule::sizes_fit for a kept share that is no percentage.
comparison compare(schedule const& s, divided_model const& model);

// Compares an entry made for the model; the costs of `s` are not used. Throws violation as entry::make
// does, and as above.
comparison compare(catalog::entry const& e, catalog::shape s, divided_model const& model);
// Takes a model of as many pieces as devices, `s.cost` being the costs of one.
inline comparison compare(catalog::entry const& e, catalog::shape const& s) {
  return compare(e, s, {.cost = s.cost, .piece_count = s.p.value});
}

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/study/compare.ipp>
#endif
