// The programs that the transformer is trained under.
#pragma once

#include <ashlar/catalog.hpp>
#include <ashlar/lower.hpp>
#include <ashlar/search.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace libtorch {

struct named_program {
  std::string name;
  ashlar::program program;
};

// All train `stages` stages on m micro-batches; those with two stages on a device have half as many
// devices.
inline std::vector<named_program> programs_for(int stages, int m) {
  using namespace ashlar;
  std::vector<named_program> all;
  for (std::string_view const name :
       {"1f1b", "1f1b-recompute", "zb-h1", "v-half", "dualpipe", "chimera"}) {
    devices const p{name == "v-half" ? stages / 2 : stages};
    all.push_back({std::string(name), lower(catalog::find(name)->make({p, micro_batches{m}}))});
  }
  // A search's result for passes that take 10, 12 and 8 ticks, with the memory of V-Half and one
  // activation more.
  devices const p{stages / 2};
  search_problem const problem{.where = v_shape(p),
                               .m = micro_batches{m},
                               .cost = costs({10, 12, 8}, 1),
                               .limit = chunk_activations(p.value + 3)};
  all.push_back({"searched", lower(search(problem, {.passes = 300'000}).best)});
  return all;
}

}  // namespace libtorch
