// Derives placement and routes from the passes of a CSV, and checks that all passes are present.
#pragma once

#include <ashlar/interop/csv_tokens.hpp>
#include <ashlar/model/dependencies.hpp>

#include <optional>
#include <vector>

namespace ashlar {

// The routes of a file.
struct csv_routes {
  std::vector<std::vector<int>> routes;  // devices by stage
  std::vector<int> route;                // of each micro-batch
};

namespace csv_detail {

// The place of a pass of a (micro-batch, stage).
struct csv_entry {
  int device = -1;
  int index = 0;
  std::optional<pass_kind> kind = {};  // none, if there is no such pass
};
using csv_table = result_table<csv_entry>;

// Tables have an entry for each stage of each micro-batch, so a file with high numbers but few passes
// must not get one. Every stage of every micro-batch has at least two passes, or its forward alone.
bool numbers_are_plausible(csv_tokens const& tokens, csv_problems& problems);

void enter(csv_tokens const& tokens, csv_table& table, csv_problems& problems);

}  // namespace csv_detail

// Groups the micro-batches by the devices of their stages. More routes than devices are redundant: each
// route needs its own device for the first stage, or could share another route. O(n log(routes)) for n
// passes.
csv_routes find_csv_routes(csv_tokens const& tokens, csv_problems& problems);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/interop/csv_routes.ipp>
#endif
