// Says how long a step is when a device of a pipeline is lost, and how much has to move for it: stages
// change places, or the model is cut anew for one device less.
//
// Prints Markdown: for schedules of the catalog, the step, in forwards of a device's whole part; then
// the longest over all devices that may be lost, for stages that move (1), with up to four more stages
// that move and an order from a search (2), and for the same schedule made anew for a device less (3),
// where stages are larger; the last columns say which part of the model's state moves. The second table
// is of three pipelines side by side that lose one device: each micro-batch may go to another pipeline's
// device for the lost stage.
//
// A forward, an input and a weight pass take the same; messages take no time.
//
// usage: bench_residency_lost_device
#include <ashlar/catalog/entries.hpp>
#include <ashlar/model/migration.hpp>
#include <ashlar/optimize/improve.hpp>
#include <ashlar/schedule/compose.hpp>
#include <ashlar/schedule/without_devices.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <vector>

using namespace ashlar;

namespace {

constexpr int chunk_count = 2;
constexpr tick whole = 5040;  // a forward of a p-th of the model with p = 1, to be divided

schedule made(char const* name, int p, int m, int of) {
  catalog::entry const& entry = *catalog::find(name);
  catalog::shape shape{.p = devices{p}, .m = micro_batches{m}, .v = chunks{chunk_count}};
  int const stages = entry.make(shape).stage_count();
  tick const each = whole * of / stages;
  shape.cost = costs(stage_cost{each, each, each});
  return entry.make(shape);
}

schedule searched(schedule const& s) { return improve(s, {.passes = 400'000}); }

// The part of the model that each device lacks after a new cut into equal stages: layers are counted.
double moved_by_new_cut(schedule const& before, schedule const& after, int lost) {
  constexpr int layers = 840;
  int moved = 0;
  for (int layer = 0; layer < layers; ++layer) {
    int const was = before.where.device_of(0, layer * before.stage_count() / layers);
    int const is = after.where.device_of(0, layer * after.stage_count() / layers);
    moved += was == lost || (was > lost ? was - 1 : was) != is;
  }
  return 1.0 * moved / layers;
}

void print_losses(char const* name, int p, int m) {
  schedule const s = made(name, p, m, p), anew = made(name, p - 1, m, p);
  double const unit = static_cast<double>(whole);
  tick moved = 0, best = 0;
  double state = 0, best_state = 0, new_state = 0;
  for (int lost = 0; lost < p; ++lost) {
    std::vector<int> const left = devices_left(p, {lost});
    auto const share = [&](schedule const& t) {
      return 1.0
             * static_cast<double>(
                 plan_migration(parameter_groups(s.where).view(), parameter_groups(t.where).view(), left)
                     .moves.size())
             / s.stage_count();
    };
    schedule const one = without_devices(s, {lost});
    schedule const two = searched(without_devices(s, {lost}, {.more = 4}));
    moved = std::max(moved, makespan(one));
    best = std::max(best, makespan(two));
    state = std::max(state, share(one));
    best_state = std::max(best_state, share(two));
    new_state = std::max(new_state, moved_by_new_cut(s, anew, lost));
  }
  auto const in_units = [&](tick t) { return static_cast<double>(t) / unit; };
  std::printf("| %s | %d, %d | %.1f | %.1f | %.1f | %.1f | %.0f %% | %.0f %% | %.0f %% |\n", name, p, m,
              in_units(makespan(s)), in_units(moved), in_units(best), in_units(makespan(anew)),
              100 * state, 100 * best_state, 100 * new_state);
}

// `count` pipelines on devices of their own, each a route.
schedule side_by_side(schedule const& s, int count) {
  int const p = s.device_count();
  std::vector<std::vector<int>> routes(static_cast<std::size_t>(count));
  for (int n = 0; n < count; ++n)
    for (int stage = 0; stage < s.stage_count(); ++stage)
      routes[static_cast<std::size_t>(n)].push_back(n * p + s.where.device_of(0, stage));
  schedule all;
  for (int n = 0; n < count; ++n) {
    schedule next = relocate(s, placement(devices{count * p}, {routes[static_cast<std::size_t>(n)]}));
    next.where = placement(devices{count * p}, routes);
    next.route.assign(next.route.size(), n);
    all = n == 0 ? next : merge(all, next);
  }
  return all;
}

// Each micro-batch has a route of its own.
schedule with_routes(schedule s) {
  std::vector<std::vector<int>> routes;
  for (int& route : s.route) {
    std::vector<int> taken;
    for (int stage = 0; stage < s.stage_count(); ++stage)
      taken.push_back(s.where.device_of(route, stage));
    route = static_cast<int>(routes.size());
    routes.push_back(taken);
  }
  s.where = placement(devices{s.device_count()}, routes);
  return s;
}

void print_peers(char const* name, int p, int m, int count) {
  schedule const s = side_by_side(made(name, p, m, p), count);
  schedule const apart = with_routes(s);
  tick peers = 0, any = 0;
  std::size_t copies = 0, of_any = 0;
  for (int lost = 0; lost < p; ++lost) {
    auto const count_copies = [&](schedule const& t) {
      return plan_migration(parameter_groups(apart.where).view(), parameter_groups(t.where).view(),
                            devices_left(s.device_count(), {lost}))
          .moves.size();
    };
    schedule const held = without_devices(apart, {lost}, {.to_holders = true});
    schedule const free = without_devices(apart, {lost});
    peers = std::max(peers, makespan(held));
    any = std::max(any, makespan(free));
    copies = std::max(copies, count_copies(held));
    of_any = std::max(of_any, count_copies(free));
  }
  double const unit = static_cast<double>(whole);
  std::printf("| %s | %d of %d, %d | %.1f | %.1f, %zu | %.1f, %zu |\n", name, count, p, m,
              static_cast<double>(makespan(s)) / unit, static_cast<double>(peers) / unit, copies,
              static_cast<double>(any) / unit, of_any);
}

}  // namespace

int main() {
  for (char const* name : {"1f1b", "zb-h1", "v-half", "depth-first"})
    for (int p : {4, 8}) print_losses(name, p, 2 * p);
  std::puts("");
  for (char const* name : {"1f1b", "zb-h1"}) print_peers(name, 4, 8, 3);
}
