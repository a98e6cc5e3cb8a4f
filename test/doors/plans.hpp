// Choices under a limit of memory, and cuts.
#pragma once

#include "doors/knock.hpp"
#include <ashlar/plan/parts/choose.hpp>
#include <ashlar/plan/parts/partition.hpp>

#include <cstddef>
#include <vector>

namespace doors {

inline void of_plans(dice& d) {
  std::vector<std::vector<variant>> things(static_cast<std::size_t>(d.between(0, 4)));
  for (auto& thing : things) {
    thing.resize(static_cast<std::size_t>(d.between(0, 3)));
    for (variant& v : thing) v = {d.between(0, 9), d.between(0, 9), 0};
    if (d.percent(20)) put(d, thing, &variant::memory);
    if (d.percent(20)) put(d, thing, &variant::time);
  }
  byte_count const room = d.percent(80) ? d.between(0, 30) : extreme(d, byte_count{9});
  knock([&] {
    choice const c = choose(things, room);
    demand(c.missing > 0 || c.what.memory <= room);
  });
  cut_costs cut{.layer = std::vector<double>(static_cast<std::size_t>(d.between(0, 6)), 1.0),
                .volume = std::vector<double>(static_cast<std::size_t>(d.between(0, 6)), 1.0),
                .link = std::vector<double>(static_cast<std::size_t>(d.between(0, 4)), 1.0),
                .repeats = d.percent(80) ? 3 : extreme_real(d, 3)};
  for (auto* list : {&cut.layer, &cut.volume, &cut.link})
    if (!list->empty() && d.percent(20)) one_of(d, *list) = extreme_real(d, 1);
  int const count = d.percent(80) ? d.between(0, 5) : extreme(d, 3);
  knock([&] {
    std::vector<int> const sizes = best_partition(cut, count);
    demand(pipeline_time(cut, sizes) >= 0);
  });
  knock([&] { uniform_partition(extreme(d, 9), d.between(-2, 5), extreme(d, 1), extreme(d, 1)); });
}

}  // namespace doors
