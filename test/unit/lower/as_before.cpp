// Programs of random schedules, with options of every kind, are those of before. Other tests say what is
// right; these notice what changes.
#include "random.hpp"
#include "random_cases.hpp"
#include "random_programs.hpp"
#include "recorded_rows.hpp"
#include <ashlar/lower/lower.hpp>
#include <ashlar/schedule/residency_rules.hpp>

#include <doctest/doctest.h>

namespace lower_as_before {

namespace {

using namespace random_case;

lower_options options_to_lower(dice& d, schedule const& s) {
  lower_options o;
  o.lanes = static_cast<transfer_lanes>(d.between(0, 3));
  o.reduction = static_cast<gradient_reduction>(d.between(0, 2));
  o.step = static_cast<optimizer_step>(d.between(0, 2));
  o.transfers = static_cast<transfer_order>(d.between(0, 1));
  o.slots = static_cast<slot_reuse>(d.percent(20) ? 1 : 0);
  o.receives = static_cast<receive_time>(d.between(0, 1));
  if (d.percent(60)) {
    o.data_ranks = d.between(1, 3);
    o.sharding = static_cast<sharding_level>(d.between(0, 4));
    o.weight_buffers = d.between(1, 3);
    o.prefetch = d.between(0, 3);
  }
  if (d.percent(20) && s.stage_count() > 1) o.shared_parameters = {{0, s.stage_count() - 1}};
  if (d.percent(30)) o.offload = random_offload(d, s);
  return o;
}

recorded_rows::row numbers_of_program(program const& p) {
  recorded_rows::tag instructions, operands, slots, streams;
  for (instruction const& i : p.instructions)
    instructions.add(static_cast<int>(i.code), static_cast<int>(i.subject), i.overlaps_next ? 1 : 0,
                     i.lane, static_cast<int>(i.what.kind), i.what.stage, i.what.micro_batch, i.to,
                     i.peer, i.group, i.first_operand, i.operand_count);
  for (operand const& o : p.operands) operands.add(o.slot, static_cast<int>(o.how));
  for (slot_kind const kind : p.slots) slots.add(static_cast<int>(kind));
  for (int const begin : p.stream_begin) streams.add(begin);
  recorded_rows::row made;
  recorded_rows::put(made, p.instructions.size(), p.operands.size(), p.slots.size(), instructions.sum(),
                     operands.sum(), slots.sum(), streams.sum(), p.view().lane_count);
  return made;
}

TEST_CASE("as before: programs of random schedules") {
  recorded_rows::table rows;
  FOR_SEEDS(random_cases(1000)) {
    schedule const s = random_schedule_to_lower(d, 25);
    lower_options o = options_to_lower(d, s);
    try {
      if (o.sharding >= sharding_level::weights && d.percent(40)) o.weights = planned_residency(s, {});
      rows.push_back(numbers_of_program(lower(s, o)));
    } catch (violation const& e) {
      rows.push_back({-1 - static_cast<double>(e.why.broken)});
    }
  }
  recorded_rows::must_be_as_before("lower/programs_as_before.txt", rows);
}

}  // namespace

}  // namespace lower_as_before
