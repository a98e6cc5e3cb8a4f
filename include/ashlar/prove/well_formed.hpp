// The condition of every level: a program whose tables can be read and belong together.
#pragma once

#include <ashlar/block/check.hpp>
#include <ashlar/model/moving.hpp>
#include <ashlar/program/program.hpp>
#include <ashlar/prove/tables.hpp>

#include <cstdint>
#include <limits>

namespace ashlar {

// Runs check_tables, and checks that stages, routes and groups belong together: the levels rely on this
// when they read a program with any fields.
constexpr diagnosis check_well_formed(program const& p) {
  if (p.device_count() < 1 || p.route.empty()) return {.broken = rule::counts_are_positive};
  if (p.graph.count() != p.stage_count())
    return wrong_size(table::stages_of_graph, p.graph.count(), p.stage_count());
  if (diagnosis const d = check_routes(p.graph, p.where, p.route); !d.ok()) return d;
  if (p.where.moves() && (p.offloads || !can_move(p.graph, p.work.view())))
    return {.broken = rule::moving_stages_are_whole};
  if (!p.groups.belong_to(p.where)) return {.broken = rule::tables_agree, .number = p.groups.count()};
  // Messages and passes are numbered by int.
  std::int64_t const m = p.micro_batch_count(), most = std::numeric_limits<int>::max();
  for (std::int64_t kinds :
       {2 * std::int64_t{p.graph.link_count()} + (p.where.moves() ? p.stage_count() : 0),
        results * std::int64_t{p.stage_count()}})
    if (kinds > most / m) return {.broken = rule::sizes_fit, .number = kinds};
  return check_tables(p.view());
}

}  // namespace ashlar
