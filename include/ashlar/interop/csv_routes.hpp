// From the passes of a CSV to placement and routes, and whether all passes are there.
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

// Where each pass of a (micro-batch, stage) stands.
struct csv_entry {
  int device = -1;
  int index = 0;
  std::optional<pass_kind> kind = {};  // none, if there is no such pass
};
using csv_table = result_table<csv_entry>;

// Tables have an entry for each stage of each micro-batch: a file that names a high number but has not
// the passes for it must not make us build one. Every stage of every micro-batch has two passes at
// least, or its forward alone.
bool numbers_are_plausible(csv_tokens const& tokens, csv_problems& problems);

void enter(csv_tokens const& tokens, csv_table& table, csv_problems& problems);

}  // namespace csv_detail

// Groups the micro-batches by the devices of their stages. More routes than devices make no sense: each
// route has a device of its own for the first stage, or shares it with another to no end. O(n
// log(routes)) for n passes.
csv_routes find_csv_routes(csv_tokens const& tokens, csv_problems& problems);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/interop/csv_routes.ipp>
#endif
