// Costs, machines and braids of random parts give what they gave before. Other tests say what is right;
// these notice what changes.
#include "random.hpp"
#include "random_cases.hpp"
#include "recorded_rows.hpp"
#include <ashlar/core/braid.hpp>
#include <ashlar/core/cost.hpp>
#include <ashlar/core/cost_sizes.hpp>
#include <ashlar/core/moved_times.hpp>
#include <ashlar/core/part_costs.hpp>
#include <ashlar/core/sequence_costs.hpp>
#include <ashlar/core/sort.hpp>
#include <ashlar/core/ticks.hpp>
#include <ashlar/core/tournament.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace core_as_before {

namespace {

using namespace random_case;
using recorded_rows::put;
using recorded_rows::tag;

constexpr pass_kind every_kind[] = {pass_kind::forward, pass_kind::backward, pass_kind::backward_input,
                                    pass_kind::backward_weight, pass_kind::recompute};

// Returns what `what()` does, or a number of the rule that it breaks.
template <class What>
std::int64_t number_of(What what) {
  try {
    return what();
  } catch (violation const& e) {
    return -1000 - static_cast<int>(e.why.broken) - 100 * static_cast<std::int64_t>(e.why.number % 97);
  }
}

std::int64_t tag_of_costs(costs const& c, int p, int stages, int m) {
  tag all;
  for (int device = 0; device < p; ++device) {
    for (int stage = 0; stage < stages; ++stage)
      for (int k = 0; k < m; ++k)
        for (pass_kind const kind : every_kind) all.add(c.of({kind, stage, k}, device));
    for (int other = 0; other < p; ++other) all.add(c.transfer(device, other));
    all.add(c.of_pair({pass_kind::forward, 0, 0}, {pass_kind::backward_input, stages - 1, 0}, device));
    all.add(c.on.time_of(tick{7}, device));
  }
  all.add(c.passes.has_instants() ? 1 : 0, c.are_transfers_free() ? 1 : 0, c.passes.stages(),
          c.passes.sequence_chunks(), c.passes.micro_batches(), c.passes.period());
  return all.sum();
}

costs costs_to_try(dice& d, int p, int stages, int m) {
  costs made = random_costs(d, stages);
  vary_machine(d, made, p, false);
  for_each_link(made.on.links, [&](link_speed& link) {
    link.bandwidth = d.between(0, 3);
    link.period = d.between(1, 4);
  });
  made.message = d.between(0, 9);
  made.on.host.speed = {d.between(0, 3), d.between(0, 3), d.between(1, 3)};
  made.on.collective = made.on.host.speed;
  if (d.percent(30)) differ_by_micro_batch(d, made, m);
  if (d.percent(30)) made.passes.overlapped = tick{d.between(1, 9)};
  return made;
}

std::vector<pass_part> parts_to_try(dice& d, bool backward) {
  std::vector<pass_part> all;
  for (int i = d.between(0, 6); i > 0; --i)
    all.push_back({d.percent(45) ? part_resource::exchange : part_resource::compute,
                   d.percent(15) ? 0 : d.between(1, 9), backward && d.percent(40)});
  return all;
}

TEST_CASE("as before: costs and machines") {
  recorded_rows::table rows;
  FOR_SEEDS(random_cases(300)) {
    int const p = d.between(1, 4), stages = d.between(1, 5), m = d.between(1, 4);
    costs const a = costs_to_try(d, p, stages, m), b = costs_to_try(d, p, stages, m);
    recorded_rows::row row;
    put(row, tag_of_costs(a, p, stages, m));
    costs slow = a;
    stretch_transfers(slow.on, 3);
    put(row, tag_of_costs(slow, p, stages, m), slow.on.host.time_of(7), slow.on.collective.time_of(5));
    costs late = a;
    int const from = d.between(0, p - 1), to = d.between(0, p - 1);
    tick const by = d.between(0, 9);
    delay_link(late.on.links, from, to, by);
    delay_link(late.on.links, to, from, 2);
    delay_link(late.on.links, from, to, 1);
    put(row, tag_of_costs(late, p, stages, m));
    costs turned = a;
    turned.on = mirrored(a.on, p);
    put(row, tag_of_costs(turned, p, stages, m));
    costs other = d.percent(50) ? b : a;
    if (d.percent(60)) {
      other.on = a.on;
      other.message = a.message;
      other.passes.overlapped = a.passes.overlapped;
    }
    put(row, number_of([&] { return tag_of_costs(joined(a, m, other, m), p, stages, 2 * m); }));
    int const q = d.between(1, 4);
    causal_share const share{d.between(-1, 101), d.between(0, 100)};
    put(row, number_of([&] {
          finer_costs const made = with_causal_chunks(a, q, share);
          return 7 * tag_of_costs(made.cost, p, stages, q) + 3 * made.unit
                 + tag_of_costs(of_whole_sequences(made.cost), p, stages, m);
        }));
    int const other_stages = d.between(1, 5), other_p = d.between(1, 4);
    diagnosis const wrong = check_sizes(a, other_stages, other_p, d.between(1, 4), q);
    put(row, static_cast<int>(wrong.broken), wrong.number);
    tick const x = d.percent(30) ? max_tick / 2 : d.between(-50, 50), y = d.between(1, 9);
    tick const amount = d.between(0, 99), less = d.between(0, 2), more = d.between(-1, 1);
    put(row, floor_quotient(x, y), floor_remainder(x, y),
        number_of([&] { return shifted(x, y * (max_tick / 9)); }),
        number_of([&] { return stretched(x, y - 1); }), proportional(amount, y, 7),
        at_speed(y, 30 + 7 * q), saturating_sum(max_tick - y, y - less),
        saturating_product(max_tick / y, y + more));
    rows.push_back(row);
  }
  recorded_rows::must_be_as_before("core/costs_as_before.txt", rows);
}

TEST_CASE("as before: braids") {
  recorded_rows::table rows;
  FOR_SEEDS(random_cases(300)) {
    part_costs c{.how = static_cast<braiding>(d.between(0, 2))};
    for (int i = d.between(1, 3); i > 0; --i) {
      std::vector<pass_part> const forward = parts_to_try(d, false);
      c.stages.push_back({forward, parts_to_try(d, true)});
    }
    stage_parts const &one = c.stages.front(), &other = c.stages.back();
    recorded_rows::row row;
    tag order;
    for (char const each : order_of_pair(one.forward, other.backward, c.how)) order.add(each);
    put(row, braided(one.forward, other.backward, c.how), order.sum());
    pass_costs const made = costs_of(c);
    int const stages = static_cast<int>(c.stages.size());
    tag all;
    for (int i = 0; i < stages; ++i)
      for (int j = 0; j < stages; ++j)
        for (pass_kind const kind : pair_costs::backwards) all.add(made.overlapped.of(i, kind, j));
    put(row, all.sum(), made.overlapped.longest(), made.overlapped.shortest());
    pass_costs near = made;
    if (d.percent(50)) near.at(0).backward_input += d.between(0, 1);
    if (d.percent(50)) near.at(stages - 1).recompute = made.of(stages - 1).forward + d.between(0, 1);
    put(row, are_sums_of(near, c, stages) ? 1 : 0);
    stage_parts const twice = repeated(one, 3);
    put(row, twice.forward.size(), twice.backward.size());
    int const classes = d.between(1, 3);
    std::vector<stage_cost> each;
    for (int i = 0; i < 2 * classes; ++i) each.push_back({d.between(0, 9), d.between(0, 9), 1});
    std::vector<int> class_of;
    for (int i = d.between(1, 5); i > 0; --i)
      class_of.push_back(d.between(0, d.percent(10) ? 3 : classes - 1));
    put(row, number_of([&] {
          pass_costs const by_class = pass_costs::by_class(each, classes, class_of);
          tag sum;
          by_class.for_each([&](int stage, int k, stage_cost const& own) {
            sum.add(stage, k, own.forward, own.backward_input);
          });
          return sum.sum();
        }));
    dynamic_array<tick> list;
    for (int i = d.between(0, 30); i > 0; --i)
      list.push_back(d.percent(50) ? d.between(0, 9) : d.between(0, 2000));
    tag sorted;
    for (tick const t : sorted_by(list, 0, 2000, [](tick each_tick) { return each_tick; }))
      sorted.add(t);
    tournament clocks(list.size() + 1);
    for (std::size_t i = 0; i < list.size(); ++i) {
      clocks.set(i, list[i]);
      sorted.add(clocks.winner(), clocks.earliest());
    }
    put(row, sorted.sum());
    rows.push_back(row);
  }
  recorded_rows::must_be_as_before("core/braids_as_before.txt", rows);
}

}  // namespace

}  // namespace core_as_before
