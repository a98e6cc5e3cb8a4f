#include "commands/search_choices.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace tool {

namespace {

// Whether a search of this layout sends anything over a link.
bool is_taken(ashlar::search_problem const& problem, int from, int to) {
  ashlar::stage_graph const graph = graph_of(problem);
  for (int stage = 0; stage < graph.count(); ++stage)
    for (int const next : graph.successors(stage)) {
      int const here = problem.where.device_of(0, stage), there = problem.where.device_of(0, next);
      if ((here == from && there == to) || (here == to && there == from)) return true;
    }
  return false;
}

}  // namespace

ashlar::objective aim_of(search_options const& o) {
  using enum ashlar::objective;
  return o.aim == "makespan" ? makespan : o.aim == "program" ? program : span;
}

choices choices_of(search_options const& o) {
  choices all;
  for (ashlar::layout_choice const& plain :
       o.layers.path.empty() ? layouts_of(o.model) : layered_layouts_of(o.layers, o.model, o.limit))
    for (ashlar::layout_choice& c : limited(plain, o.limit, o.model.cost, variety_of(o.model, plain)))
      if (std::optional<shortfall> lacks = shortfall_of(c, o.limit))
        all.infeasible.push_back({std::move(c), std::move(*lacks)});
      else
        all.feasible.push_back(std::move(c));
  return all;
}

void must_be_taken(late_links const& late, choices const& known) {
  must_be_taken(late, [&known](int from, int to) {
    auto const takes = [&](auto const& choice) { return is_taken(choice.problem, from, to); };
    return std::any_of(known.feasible.begin(), known.feasible.end(), takes)
           || std::any_of(known.infeasible.begin(), known.infeasible.end(),
                          [&](infeasible_layout const& l) { return takes(l.choice); });
  });
}

}  // namespace tool
