// Layouts of a model, and its layers divided over stages.
#pragma once

#include "doors/knock.hpp"
#include <ashlar/plan/parts/layered_layouts.hpp>
#include <ashlar/search/layout_freedoms.hpp>
#include <ashlar/search/layouts.hpp>

#include <vector>

namespace doors {

inline void of_layouts(dice& d) {
  model_share model{.p = devices{d.between(1, 3)}, .m = micro_batches{d.between(1, 3)}, .cost = {}};
  if (d.percent(10)) model.p = devices{extreme(d, 2)};
  if (model.p.value > 64 && model.p.value < (1 << 24)) model.p = devices{4};
  if (d.percent(10)) model.m = micro_batches{extreme(d, 2)};
  if (model.m.value > 64 && model.m.value < (1 << 24)) model.m = micro_batches{4};
  for (int changes = d.between(0, 2); changes > 0; --changes) change_cost(d, model.cost);
  int const percent = d.percent(80) ? d.between(20, 150) : extreme(d, 100);
  variety how;
  if (d.percent(30)) how.kept_percent = {d.percent(50) ? d.between(0, 100) : extreme(d, 50)};
  if (d.percent(20)) change_list(d, how.kept_percent);
  if (d.percent(30)) how.most_sequence_chunks = d.percent(80) ? d.between(1, 4) : extreme(d, 2);
  if (d.percent(20)) how.recomputed = {{d.between(0, 3)}, {}};
  if (d.percent(20) && !how.recomputed.empty()) change_list(d, how.recomputed[0]);
  placement_kind const shape = any_of<placement_kind>(d, 4);
  int const chunk_count = d.percent(90) ? d.between(1, 4) : extreme(d, 2);
  knock([&] { lay_out(shape, model.p, chunk_count); });
  knock([&] {
    layout_choice const plain = choose_layout(model, shape, chunk_count, percent);
    chunks_without_room(plain, how.most_sequence_chunks, how);
    first_chunks(plain.problem.where, extreme(d, 1));
    std::vector<layout_choice> all = variants_of(plain, how);
    if (all.size() > 4) all.resize(4);
    if (d.percent(20)) all = with_orders(all, objective::span);
    std::vector<searched_layout> found = search_layouts(all, {.passes = d.between(-1, 200)});
    if (found.empty()) return;
    if (d.percent(20))
      for (searched_layout& each : found) braid(each, d.between(-1, 20));
    proved_layouts const proof = proved_of(found);
    demand(proof.gap >= 0 && proof.is_optimal == (proof.gap == 0)
           && proof.least <= found[proof.best].result.reached);
  });
  layer_chain chain{.m = model.m, .layers = {}, .on = model.cost.on, .budget = {d.between(0, 9)}};
  for (int i = d.between(0, 5); i > 0; --i)
    chain.layers.push_back({.cost = {d.between(1, 4), d.between(1, 4), d.between(1, 4)},
                            .resident = d.between(0, 2),
                            .stash = d.between(0, 2)});
  if (d.percent(20)) put(d, chain.layers, &layer_share::stash);
  if (d.percent(20)) put(d, chain.layers, &layer_share::resident);
  if (!chain.layers.empty() && d.percent(20)) one_of(d, chain.layers).cost.forward = extreme(d, tick{2});
  if (d.percent(20)) change_list(d, chain.budget);
  if (d.percent(10)) chain.message = extreme(d, byte_count{1});
  knock([&] { layouts_for(chain, model.p, how); });
}

}  // namespace doors
