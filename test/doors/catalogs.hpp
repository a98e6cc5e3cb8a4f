// Published schedules of any shape, by name and by function.
#pragma once

#include "doors/knock.hpp"
#include <ashlar/catalog/graphs.hpp>
#include <ashlar/catalog/searched_entries.hpp>

#include <cstddef>
#include <vector>

namespace doors {

inline void of_catalogs(dice& d) {
  using namespace catalog;
  shape s{.p = devices{some_count(d, 6)}, .m = micro_batches{some_count(d, 16)}};
  if (d.percent(40)) s.v = chunks{some_count(d, 4)};
  if (d.percent(40)) s.w = waves{some_count(d, 3)};
  if (d.percent(40)) s.routes = some_count(d, 4);
  if (d.percent(40)) s.rounds = some_count(d, 4);
  if (d.percent(40)) s.group = some_count(d, 8);
  if (d.percent(40)) s.sequence_chunks = some_count(d, 4);
  s.junction = any_of<unit_junction>(d, 1);
  for (int changes = d.between(0, 1); changes > 0; --changes) change_cost(d, s.cost);
  // One that is searched for takes up to a second: rarely, also where a fuzzer's choices end.
  auto const rarely = [&] { return d.between(0, 49) == 49; };
  entry const& e = *all_entries[static_cast<std::size_t>(d.between(0, 255)) % all_entries.size()];
  if (!e.is_searched || rarely()) knock([&] { demand_valid(e.make(s)); });
  knock([&] {
    if (e.block_of != nullptr) static_cast<void>(e.block_of(s));
  });

  devices const p = s.p;
  micro_batches const m = s.m;
  int const n = d.percent(80) ? d.between(0, 9) : extreme(d, 4);
  knock([&] { static_cast<void>(dualpipe(p, m)); });
  knock([&] { static_cast<void>(dualpipev(p, m)); });
  knock([&] { static_cast<void>(stp(p, m)); });
  knock([&] { static_cast<void>(gems(p, m)); });
  knock([&] { static_cast<void>(breadth_first(p, s.v, m, n)); });
  knock([&] { static_cast<void>(depth_first(p, s.v, n)); });
  knock([&] { static_cast<void>(interleaved_zb(p, s.v, n)); });
  knock([&] { static_cast<void>(grouped_interleaved(p, m, s.v, n)); });
  knock([&] { static_cast<void>(hanayo(p, s.w, m)); });
  knock([&] { static_cast<void>(chimera(p, n)); });
  knock([&] { static_cast<void>(chimera_forward_doubling(p)); });
  knock([&] { static_cast<void>(bitpipe(p, s.junction)); });
  knock([&] { static_cast<void>(seq1f1b(p, n)); });
  if (rarely()) knock([&] { static_cast<void>(zero_bubble(s, n)); });
  if (rarely()) knock([&] { static_cast<void>(zero_bubble_v(s, n)); });
  knock([&] { static_cast<void>(in_units(s.cost, n)); });
  common_tick(s.cost);
  stage_graph graph = random_graph(d, d.between(1, 4));
  if (d.percent(40)) change_graph(d, graph);
  std::vector<int> turns(static_cast<std::size_t>(graph.count()), 1);
  if (d.percent(40)) change_list(d, turns);
  placement const where = random_placement(d, devices{d.between(1, 3)}, stages{graph.count()});
  knock([&] { static_cast<void>(k_f_k_b(graph, where, m, turns, s.cost)); });
  std::vector<module_grid> grids;
  for (int left = d.between(0, 3); left > 0; --left)
    grids.push_back({stages{some_count(d, 3)}, some_count(d, 3)});
  knock([&] { demand_valid(grids_one_f_one_b(graph, grids, m, s.cost)); });
}

}  // namespace doors
