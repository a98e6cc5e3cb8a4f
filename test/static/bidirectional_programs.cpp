// The schedules in two directions at 4 devices and 8 micro-batches, as programs.
#include <ashlar/catalog/entries.hpp>
#include <ashlar/check/valid.hpp>
#include <ashlar/lower/lower.hpp>

using namespace ashlar;

constexpr catalog::shape shape() { return {devices{4}, micro_batches{8}}; }
constexpr catalog::shape four_ways() {
  catalog::shape s = shape();
  s.routes = 4;
  return s;
}
constexpr catalog::shape as_drawn() {
  catalog::shape s = shape();
  s.junction = catalog::unit_junction::figure;
  return s;
}

constexpr program gems() { return catalog::find("gems")->make(shape()) | lower(); }
constexpr program chimera() { return catalog::find("chimera")->make(shape()) | lower(); }
constexpr program chimera_four() { return catalog::find("chimera")->make(four_ways()) | lower(); }
constexpr program doubling() {
  return catalog::find("chimera-forward-doubling")->make(shape()) | lower();
}
constexpr program halving() {
  return catalog::find("chimera-backward-halving")->make(shape()) | lower();
}
constexpr program bitpipe() { return catalog::find("bitpipe")->make(shape()) | lower(); }
constexpr program bitpipe_drawn() { return catalog::find("bitpipe")->make(as_drawn()) | lower(); }
constexpr program dualpipe() { return catalog::find("dualpipe")->make(shape()) | lower(); }
constexpr program dualpipev() { return catalog::find("dualpipev")->make(shape()) | lower(); }
constexpr program dualpipe_a_lane_a_peer() {
  return catalog::find("dualpipe")->make(shape())
         | lower(lower_options{.lanes = transfer_lanes::one_a_peer});
}

static_assert(valid<gems>());
static_assert(valid<chimera>());
static_assert(valid<chimera_four>());
static_assert(valid<doubling>());
static_assert(valid<halving>());
static_assert(valid<bitpipe>());
static_assert(valid<bitpipe_drawn>());
static_assert(valid<dualpipe>());
static_assert(valid<dualpipev>());
static_assert(valid<dualpipe_a_lane_a_peer>());
