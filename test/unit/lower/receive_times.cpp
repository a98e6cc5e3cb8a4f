#include <ashlar/lower/receive_times.hpp>
// The header above comes first: it needs nothing before it.
#include "shapes.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/conformance/random_schedule.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/prove/progress.hpp>
#include <ashlar/prove/prove.hpp>
#include <ashlar/simulate/simulate.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

using namespace shapes;

namespace {

constexpr transfer_lanes all_lanes[] = {transfer_lanes::one, transfer_lanes::one_a_peer,
                                        transfer_lanes::one_a_direction, transfer_lanes::one_a_kind};

// Counts the instructions between receives and the passes that need them.
int distance(program const& p) {
  int sum = 0;
  for (int d = 0; d < p.device_count(); ++d) {
    list_view<instruction> const stream = p.view().stream(d);
    for (instruction const* i = stream.begin(); i != stream.end(); ++i) {
      if (i->code != opcode::receive) continue;
      for (instruction const* other = i + 1; other != stream.end(); ++other, ++sum)
        if (other->code == opcode::compute && other->what.stage == i->to
            && other->what.micro_batch == i->what.micro_batch
            && (other->what.kind == pass_kind::forward) == (i->what.kind == pass_kind::forward))
          break;
    }
  }
  return sum;
}

TEST_CASE("receives come nearer to their passes the fewer transfers share a lane") {
  schedule const s = catalog::find("depth-first")->make({.p = devices{4}, .m = micro_batches{8}});
  auto const distance_of = [&](transfer_lanes lanes, receive_time receives) {
    return distance(lower(s, {.lanes = lanes, .receives = receives}));
  };
  int const early = distance_of(transfer_lanes::one, receive_time::when_sent);
  int const one = distance_of(transfer_lanes::one, receive_time::when_needed);
  int const each = distance_of(transfer_lanes::one_a_direction, receive_time::when_needed);
  CHECK(early == distance_of(transfer_lanes::one_a_direction, receive_time::when_sent));
  CHECK((each < one && one < early));
}

TEST_CASE("late receives come before the first pass that reads them, where stages take other sizes") {
  int sized = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    schedule const s = conformance::random_graph_schedule(seed);
    sized += s.graph.has_sizes() ? 1 : 0;
    for (transfer_lanes lanes : all_lanes)
      CHECK(check(lower(s, {.lanes = lanes, .receives = receive_time::when_needed})).ok());
  }
  CHECK(sized > 100);
}

TEST_CASE("late receives are proved on every lane, for any progress, and take no longer") {
  for (catalog::entry const& e : catalog::entries)
    for (stage_cost const& cost : {stage_cost{1, 1, 1}, stage_cost{20, 26, 14}})
      for (tick transfer : {0, 5}) {
        catalog::shape const shape{.p = devices{4}, .m = micro_batches{8}};
        if (!e.check(shape).ok()) continue;
        costs priced(cost);
        priced.on.links.inside.latency = transfer;
        schedule const s = retime(e.make(shape), priced);
        for (transfer_lanes lanes : all_lanes) {
          CAPTURE(e.name);
          CAPTURE(static_cast<int>(lanes));
          program const early = lower(s, {.lanes = lanes});
          program const late = lower(s, {.lanes = lanes, .receives = receive_time::when_needed});
          CHECK(check(late).ok());
          // With one lane a device may even block at each instruction.
          if (lanes == transfer_lanes::one)
            CHECK(check_progress(late.view(), progress_level::one_order_per_device).ok());
          CHECK(distance(late) <= distance(early));
          CHECK(simulate(late, {.cost = priced}).makespan()
                <= simulate(early, {.cost = priced}).makespan());
        }
      }
}

template <class Times>
concept shows_its_lanes = requires(Times t) {
  t.lane_of(0, 0, opcode::send, pass_kind::forward);
};

// Only the next event of a lane is known, so that nobody else may ask for it in between.
static_assert(!shows_its_lanes<receive_times>);

}  // namespace
