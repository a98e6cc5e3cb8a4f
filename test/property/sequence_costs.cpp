// Costs that differ by chunk of a sequence.
#include "cost_table.hpp"
#include "random.hpp"
#include <ashlar/bounds/lower_bound.hpp>
#include <ashlar/catalog/seq1f1b.hpp>
#include <ashlar/check/check.hpp>
#include <ashlar/conformance/random_schedule.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/schedule/compose.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/schedule/reorder.hpp>
#include <ashlar/schedule/repeat.hpp>
#include <ashlar/schedule/squeeze.hpp>
#include <ashlar/simulate/simulate.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

using namespace random_case;

namespace {

schedule random_pieces(dice& d) {
  int const q = d.between(2, 4);
  if (d.percent(50))
    return squeeze(conformance::random_schedule(static_cast<std::uint64_t>(d.between(1, 1'000'000)), q));
  block one = catalog::seq1f1b(devices{d.between(1, 4)}, q);
  if (d.percent(50)) one = split_backward(one);
  if (d.percent(30)) one = recompute(one);
  return one | repeat(micro_batches{q * d.between(1, 4)}) | squeeze();
}

// Gives these costs for each stage and chunk.
costs said_of_each(costs c, int stage_count, int q) {
  std::vector<stage_cost> each;
  for (int stage = 0; stage < stage_count; ++stage)
    for (int chunk = 0; chunk < q; ++chunk) each.push_back(c.passes.of(stage));
  c.passes = pass_costs::by_stage_and_sequence_chunk(each, q);
  return c;
}

TEST_CASE("chunks said to be alike are as if nothing was said") {
  FOR_SEEDS(300) {
    schedule const s = random_pieces(d);
    CAPTURE(seed);
    int const q = s.graph.sequence_chunks();
    costs plain = random_costs(d, s.stage_count());
    vary_machine(d, plain, s.device_count(), false);
    costs const each = said_of_each(plain, s.stage_count(), q);
    schedule a = retime(s, plain), b = retime(s, each);
    CHECK(a.order == b.order);
    CHECK(busy(a) == busy(b));
    if (has_workload(a)) CHECK(schedule_bound(a) == schedule_bound(b));
    CHECK(time_program(lower(a), {.cost = plain}).makespan
          == time_program(lower(b), {.cost = each}).makespan);
    b.cost = a.cost;
    CHECK(a == b);
  }
}

// Ticks of a pass by a table of stage and chunk: nothing else gives them here.
tick ticks_of(costs const& c, pass what, int device, int q) {
  auto const k = static_cast<std::size_t>(what.micro_batch % q);
  std::size_t const stage = static_cast<std::size_t>(what.stage);
  std::vector<stage_cost> const all = entries_of(c.passes);
  std::size_t const row = all.size() == static_cast<std::size_t>(q) ? 0 : stage;
  stage_cost const& own = all[row * static_cast<std::size_t>(q) + k];
  int const percent = c.on.speeds.empty() ? 100 : c.on.speeds[static_cast<std::size_t>(device)];
  auto const slowed = [&](tick t) { return (100 * t + percent - 1) / percent; };
  switch (what.kind) {
    case pass_kind::forward:
      return slowed(own.forward);
    case pass_kind::recompute:
      return slowed(own.recompute == stage_cost::same_as_forward ? own.forward : own.recompute);
    case pass_kind::backward_input:
      return slowed(own.backward_input);
    case pass_kind::backward_weight:
      return slowed(own.backward_weight);
    default:
      return slowed(own.backward_input) + slowed(own.backward_weight);
  }
}

// Starts and ends of all passes: each is on its device once, alone, and after what it reads.
void is_legal(schedule const& s, costs const& c, int q) {
  std::map<std::tuple<pass_kind, int, int>, std::pair<tick, int>> ends;  // and devices
  for (std::size_t d = 0; d < s.order.size(); ++d) {
    tick free = 0;
    for (timed_pass const t : each_pass(s.order[d])) {
      CHECK(t.start >= free);
      free = t.start + ticks_of(c, t.what, static_cast<int>(d), q);
      pass_kind const kind =
          t.what.kind == pass_kind::backward ? pass_kind::backward_input : t.what.kind;
      ends[{kind, t.what.stage, t.what.micro_batch}] = {free, static_cast<int>(d)};
    }
  }
  for (std::size_t d = 0; d < s.order.size(); ++d)
    for (timed_pass const t : each_pass(s.order[d])) {
      auto const after = [&](pass_kind kind, int stage, int micro_batch) {
        auto const found = ends.find({kind, stage, micro_batch});
        if (found == ends.end()) return;
        auto const [end, from] = found->second;
        CHECK(t.start >= end + c.transfer(from, static_cast<int>(d)));
      };
      int const stage = t.what.stage, k = t.what.micro_batch;
      if (t.what.kind == pass_kind::forward) {
        after(pass_kind::forward, stage - 1, k);
        if (k % q != 0) after(pass_kind::forward, stage, k - 1);
      } else if (t.what.kind == pass_kind::recompute) {
        after(pass_kind::forward, stage, k);
      } else if (t.what.kind == pass_kind::backward_weight) {
        after(pass_kind::backward_input, stage, k);
      } else {
        after(pass_kind::forward, stage, k);
        after(pass_kind::recompute, stage, k);
        after(pass_kind::backward_input, stage + 1, k);
        if (k % q != q - 1) after(pass_kind::backward_input, stage, k + 1);
      }
    }
}

TEST_CASE("chunks that differ: legal, all work done, bounded, as simulated") {
  int bounded = 0;
  FOR_SEEDS(300) {
    schedule s = random_pieces(d);
    CAPTURE(seed);
    int const q = s.graph.sequence_chunks();
    costs c = random_costs(d, s.stage_count());
    differ_by_sequence_chunk(d, c, q);
    vary_machine(d, c, s.device_count(), false);
    s = retime(std::move(s), c);
    CHECK(check(s).ok());
    is_legal(s, c, q);
    CHECK(squeeze(s) == s);
    std::vector<tick> const worked = busy(s);
    for (std::size_t e = 0; e < s.order.size(); ++e) {
      tick sum = 0;
      for (timed_pass const t : each_pass(s.order[e]))
        sum += ticks_of(c, t.what, static_cast<int>(e), q);
      CHECK(worked[e] == sum);
    }
    // Without transfers a device waits for nothing but its passes.
    costs at_once = c;
    at_once.on.links = {};
    schedule const unmoved = retime(s, at_once);
    CHECK(time_program(lower(unmoved), {.cost = at_once}).makespan == makespan(unmoved));
    if (!has_workload(s)) continue;
    bound const b = *schedule_bound(s);
    CHECK(b.makespan <= makespan(s));
    CHECK(b.span <= span(s));
    CHECK(b.span >= *std::max_element(worked.begin(), worked.end()));
    ++bounded;
  }
  CHECK(bounded > 200);
}

TEST_CASE("costs of chunks are of the graph's") {
  auto const s = catalog::seq1f1b(devices{2}, 2) | repeat(micro_batches{4}) | squeeze();
  schedule slower = retime(s, pass_costs::by_stage_and_sequence_chunk({{1, 2, 1}, {2, 3, 1}}, 2));
  CHECK(check(slower).ok());
  CHECK(makespan(slower) > makespan(s));
  slower.graph = chain(stages{2});
  CHECK(check(slower) == wrong_size(table::sequence_chunk_costs, 2, 1));
  slower.graph = in_sequence_chunks(slower.graph, 4);
  CHECK(check(slower) == wrong_size(table::sequence_chunk_costs, 2, 4));
}

}  // namespace
