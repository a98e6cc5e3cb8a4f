// Whether a value has passed the check of its room.
#pragma once

#include "every/made.hpp"
#include <ashlar/block/check.hpp>
#include <ashlar/bounds/graph_bound.hpp>
#include <ashlar/bounds/workload.hpp>
#include <ashlar/catalog/depth_first.hpp>
#include <ashlar/catalog/dualpipe.hpp>
#include <ashlar/catalog/searched.hpp>
#include <ashlar/catalog/stp.hpp>
#include <ashlar/core/part_costs.hpp>
#include <ashlar/cost/cluster/cluster.hpp>
#include <ashlar/cost/question/even_divisions.hpp>
#include <ashlar/cost/question/question.hpp>
#include <ashlar/cost/question/stage_layout.hpp>
#include <ashlar/cost/step/memory.hpp>
#include <ashlar/cost/step/step.hpp>
#include <ashlar/fill/fill.hpp>
#include <ashlar/fill/rooms.hpp>
#include <ashlar/interop/json_certificate.hpp>
#include <ashlar/interop/program_certificate.hpp>
#include <ashlar/interop/pytorch_comms.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/model/held_groups.hpp>
#include <ashlar/model/requests.hpp>
#include <ashlar/plan/graphs/graph_plan.hpp>
#include <ashlar/plan/graphs/operators.hpp>
#include <ashlar/plan/parts/variants.hpp>
#include <ashlar/plan/serving/plan_serving.hpp>
#include <ashlar/prove/prove.hpp>
#include <ashlar/prove/tables.hpp>
#include <ashlar/run/able.hpp>
#include <ashlar/run/frame.hpp>
#include <ashlar/run/rank_clocks.hpp>
#include <ashlar/schedule/check.hpp>
#include <ashlar/search/layouts.hpp>
#include <ashlar/search/portfolio.hpp>
#include <ashlar/search/problem.hpp>
#include <ashlar/simulate/transfer_pairs.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

namespace every {

template <class Number>
bool is_index(Number i, std::size_t size) {
  return i >= 0 && static_cast<std::size_t>(i) < size;
}

// Whether a value has passed its check.
inline bool is_right(schedule const& s) { return check(s).ok(); }
inline bool is_right(block const& b) { return check_form(b).ok(); }
inline bool is_right(workload const& w) { return check(w).ok(); }
inline bool is_right(program const& p) { return check(p).ok(); }
inline bool is_right(program_view const& p) { return check_tables(p).ok(); }
inline bool is_right(catalog::shape const& s) { return catalog::check_groups(s).ok(); }
inline bool is_right(search_problem const& problem) { return check(problem).ok(); }
inline bool is_right(cost::cluster const& c) {
  bool right = !c.kinds.empty() && c.between_kinds >= 0;
  for (cost::device_kind const& k : c.kinds)
    right = right && k.devices > 0 && k.devices < 1'000'000 && k.device.per_node > 0;
  return right;
}
inline bool is_right(cost::layout const& l) {
  bool right = true;
  for (int size : {l.micro_batch, l.tensor, l.pipeline, l.chunks, l.context, l.expert, l.data})
    right = right && size > 0 && size < 10'000;
  return right;
}
inline bool is_right(cost::tower const& t) {
  for (auto const kind : t.layers)
    if (!is_index(kind, t.kinds.size())) return false;
  return t.tokens >= 0 && t.tokens <= 2e9 && t.inputs > 0 && t.inputs < 1'000'000;
}
inline bool is_right(cost::architecture const& model) {
  for (auto const kind : model.layers)
    if (!is_index(kind, model.kinds.size())) return false;
  for (cost::tower const& each : model.towers)
    if (!is_right(each)) return false;
  return is_index(model.layer_count() - 1, 2000) && is_index(model.predictions, 100);
}
inline bool is_right(cost::question const& q) {
  try {
    cost::check(q);
    return true;
  } catch (cost::unpredictable const&) {
    return false;
  }
}
template <class T>
bool is_right(T const&) {
  return true;
}
template <class... T>
bool are_right(T const&... all) {
  return (is_right(all) && ...);
}

inline bool is_device(program_view const& p, int d) {
  return is_right(p) && is_index(d, static_cast<std::size_t>(p.device_count));
}

// Names of instructions that there are.
inline bool is_proved(program_view const& p) {
  if (!is_right(p)) return false;
  try {
    check_names(p);
    return true;
  } catch (std::invalid_argument const&) {
    return false;
  }
}

}  // namespace every
