// A device is lost between two steps: the others go on with its stages from where they were saved, to
// the bits of the training that lost none.
#include "random_cases.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/conformance/data_parallel_ranks.hpp>
#include <ashlar/conformance/random_schedule.hpp>
#include <ashlar/host/runtime.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/model/migration.hpp>
#include <ashlar/prove/prove.hpp>
#include <ashlar/prove/same_sums.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/schedule/without_devices.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <vector>

using namespace ashlar;
using conformance::data_parallel_ranks;

namespace {

// The parameters that a device or a checkpoint has, by group.
using store = std::map<int, std::vector<double>>;

std::vector<store> stores_of(program const& p, data_parallel_ranks const& ranks) {
  std::vector<store> all(static_cast<std::size_t>(p.device_count()));
  for (int group = 0; group < p.groups.count(); ++group)
    for (int d : p.groups.holders(group)) nth(all, d)[group] = ranks.weights(group);
  return all;
}

// Makes the copies of a change, one after the other: each device has what it had, or was sent.
std::vector<store> moved(migration const& m, std::vector<store> const& before, store const& saved,
                         program const& after) {
  std::vector<store> all;
  for (int const was : m.was) all.push_back(was == no_device ? store{} : nth(before, was));
  for (state_move const& move : m.moves)
    nth(all, move.to)[move.group] =
        (move.from == no_device ? saved : nth(all, move.from)).at(move.group);
  for (int d = 0; d < after.device_count(); ++d)  // what it holds no longer
    std::erase_if(nth(all, d),
                  [&](auto const& each) { return after.groups.member_of(each.first, d) < 0; });
  return all;
}

// Parameters are nowhere but in the stores. All holders of a group have the same bits.
void fill(data_parallel_ranks const& ranks, program const& p, std::vector<store> const& stores) {
  for (int group = 0; group < p.groups.count(); ++group)
    for (conformance::sharded_network* const worker : ranks.workers()) {
      auto const parameters = worker->parameters(group);
      for (double& each : parameters) each = std::numeric_limits<double>::quiet_NaN();
      for (int d : p.groups.holders(group)) {
        std::vector<double> const& there = nth(stores, d).at(group);
        REQUIRE(there == nth(stores, p.groups.holders(group)[0]).at(group));
        std::copy(there.begin(), there.end(), parameters.begin());
      }
    }
}

struct loss {
  schedule before;
  int lost = 0;
};

loss random_loss(std::uint64_t seed) {
  conformance::random_detail::dice d(seed);
  constexpr char const* names[] = {"1f1b",   "gpipe",       "zb-h1",         "zb-h2",
                                   "v-half", "depth-first", "breadth-first", "interleaved-zb"};
  schedule s;
  if (d.one_in(3)) {
    do s = conformance::random_schedule(seed++);
    while (s.device_count() < 2);
  } else {
    catalog::entry const* entry = nullptr;
    while (entry == nullptr) entry = catalog::find(names[d.below(8)]);
    int const p = 2 + d.below(4);
    s = entry->make({.p = devices{p}, .m = micro_batches{p * (1 + d.below(2))}});
  }
  return {s, d.below(s.device_count())};
}

}  // namespace

TEST_CASE("host: fifty losses of a device, each proved, and the bits of no loss from there on") {
  int moves = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    CAPTURE(seed);
    loss const each = random_loss(seed);
    schedule const& whole = each.before;
    int const lost = each.lost;
    CAPTURE(lost);
    schedule const fewer = without_devices(whole, {lost}, {.more = static_cast<int>(seed % 3)});
    lower_options const how{.data_ranks = 1 + static_cast<int>(seed % 2),
                            .step = optimizer_step::at_end};
    program const before = lower(whole, how), after = lower(fewer, how);
    REQUIRE(after.device_count() == before.device_count() - 1);
    migration const change = plan_migration(before.groups.view(), after.groups.view(),
                                            devices_left(before.device_count(), {lost}));
    REQUIRE(check(after).ok());
    REQUIRE(check(change, before.groups.view(), after.groups.view()).ok());
    REQUIRE(check_same_sums(before.view(), after.view()).ok());
    moves += static_cast<int>(change.moves.size());

    data_parallel_ranks ranks(before);
    host::runtime runtime(before, ranks.workers());
    for (int step = 0; step < 2; ++step) runtime.run();
    store saved;  // a checkpoint
    for (int group = 0; group < before.groups.count(); ++group) saved[group] = ranks.weights(group);
    std::vector<store> stores = stores_of(before, ranks);
    nth(stores, lost).clear();

    data_parallel_ranks others(after);
    fill(others, after, moved(change, stores, saved, after));
    host::runtime goes_on(after, others.workers());
    for (int step = 0; step < 3; ++step) {
      runtime.run();
      goes_on.run();
      for (int group = 0; group < before.groups.count(); ++group) {
        CHECK(others.gradient(group) == ranks.gradient(group));
        CHECK(others.weights(group) == ranks.weights(group));
      }
    }
    // A copy less is proved wrong, and gives no numbers.
    if (change.moves.empty()) continue;
    migration less = change;
    less.moves.pop_back();
    CHECK(check(less, before.groups.view(), after.groups.view()).broken
          == rule::weights_are_resident_when_used);
    CHECK_THROWS(fill(others, after, moved(less, stores, saved, after)));
  }
  CHECK(moves >= 50);
}
