// Stage graphs that are no chains, two routes, recomputation.
#include <ashlar/ashlar.hpp>

using namespace ashlar;

// Stage 0 feeds 1 and 2, both feed 3.
constexpr block fork_join() {
  return make_block(linear(devices{4}), {}, 3, {pass_kind::forward, pass_kind::backward},
                    [](pass_kind kind, int stage) {
                      int const depth = (stage + 1) / 2;
                      return tick{kind == pass_kind::forward ? depth : 7 - 2 * depth};
                    })
         | with_graph(stage_graph(stages{4}, {{0, 1}, {0, 2}, {1, 3}, {2, 3}}));
}

constexpr schedule two_ways() {
  block const down = with_interval(catalog::one_f_one_b(devices{4}), 6);
  return overlay(down, mirror(down)) | repeat(micro_batches{4}) | squeeze();
}

constexpr program fork_join_program() {
  return fork_join() | repeat(micro_batches{8}) | squeeze() | lower();
}
constexpr program two_ways_program() { return two_ways() | lower(); }
constexpr block recomputed() { return catalog::one_f_one_b(devices{4}) | recompute(); }
constexpr program recomputed_program() {
  return recomputed() | repeat(micro_batches{6}) | squeeze() | lower();
}

static_assert(valid<fork_join>());
static_assert(valid<fork_join_program>());
static_assert(valid<two_ways>());
static_assert(valid<two_ways_program>());
static_assert(valid<recomputed>());
static_assert(valid<recomputed_program>());
