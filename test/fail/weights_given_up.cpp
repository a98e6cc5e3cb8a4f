// expect: breaks<[^']*weights_are_resident_when_used[^']*device_<1>[^']*compute[^']*forward
// Device 1 gives its weights up and computes on them.
#include "../mutate.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/check/valid.hpp>
#include <ashlar/lower/lower.hpp>

using namespace ashlar;

constexpr program made() {
  program p = catalog::find("gpipe")->make({devices{2}, micro_batches{2}})
              | lower(lower_options{.data_ranks = 2, .sharding = sharding_level::full});
#ifndef OK
  int const release = mutate::find(p, 1, opcode::release, {pass_kind::forward, 1, 0});
  mutate::move(p, 1, release, mutate::find(p, 1, opcode::compute, {pass_kind::forward, 1, 0}) + 1);
#endif
  return p;
}

static_assert(valid<made>());
