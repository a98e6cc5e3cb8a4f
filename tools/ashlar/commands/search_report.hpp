// The options of `ashlar search`, and the report of its results.
#pragma once

#include "options/layer_options.hpp"
#include "options/layout_options.hpp"
#include "options/limit_options.hpp"
#include "options/offload_options.hpp"
#include "report/search_run.hpp"
#include <ashlar/render/palette.hpp>
#include <ashlar/search/offload_search.hpp>
#include <ashlar/search/portfolio.hpp>

#include <string>
#include <vector>

namespace tool {

struct search_options {
  layout_options model;
  limit_options limit;
  layer_options layers;
  std::string aim = "span";
  bool order = false;  // also with micro-batches in another order
  bool braid = false;  // and make pairs
  search_budget budget;
  host_options host;  // a link, if values may leave
  std::vector<std::string> starts;
  std::string format = "text";
  ashlar::picture_theme theme = ashlar::picture_theme::follow_reader;
  std::string dialect = "detect";
  std::string output = "-";
  std::string certificate = {};
};

// A layout for which the limit leaves no schedule.
struct infeasible_layout {
  ashlar::layout_choice choice;
  shortfall lacks;
};

// The result for a layout where values may leave for the hosts of their devices.
struct offloaded_layout {
  ashlar::layout_choice choice;
  ashlar::offloaded_schedule found;

  // The time reached, in ticks of the given costs, which all layouts share.
  double time() const { return static_cast<double>(found.reached) / static_cast<double>(choice.unit); }
};
std::string text_of(offloaded_layout const& best, search_options const& o);
// The schedule as `ashlar emit --as json` writes it, the values that leave, and figures.
std::string json_of(offloaded_layout const& best, search_options const& o);

// Whether every division of the layers was searched for each placement, in every variant of it. Requires
// layers.
bool has_all_divisions(std::vector<ashlar::searched_layout> const& all,
                       std::vector<infeasible_layout> const& infeasible);

// A table of the layouts, the proof of the best, and its picture where that is not too long.
std::string text_of(std::vector<ashlar::searched_layout> const& all,
                    std::vector<infeasible_layout> const& infeasible, search_options const& o);

// The best schedule as `ashlar emit --as json` writes it, and figures of all layouts.
std::string json_of(std::vector<ashlar::searched_layout> const& all,
                    std::vector<infeasible_layout> const& infeasible, search_options const& o);

}  // namespace tool
