// The schedules in two directions at 8 devices and 32 micro-batches: the block, and the schedule
// repeated and squeezed.
#include <ashlar/catalog/entries.hpp>
#include <ashlar/check/valid.hpp>

using namespace ashlar;

constexpr catalog::shape shape() { return {devices{8}, micro_batches{32}}; }
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

constexpr block gems_block() { return catalog::find("gems")->block_of(shape()); }
constexpr block chimera_block() { return catalog::find("chimera")->block_of(shape()); }
constexpr block chimera_four_block() { return catalog::find("chimera")->block_of(four_ways()); }
constexpr block doubling_block() { return catalog::find("chimera-forward-doubling")->block_of(shape()); }
constexpr block halving_block() { return catalog::find("chimera-backward-halving")->block_of(shape()); }
constexpr block bitpipe_block() { return catalog::find("bitpipe")->block_of(shape()); }
constexpr block bitpipe_drawn_block() { return catalog::find("bitpipe")->block_of(as_drawn()); }

static_assert(valid<gems_block>());
static_assert(valid<chimera_block>());
static_assert(valid<chimera_four_block>());
static_assert(valid<doubling_block>());
static_assert(valid<halving_block>());
static_assert(valid<bitpipe_block>());
static_assert(valid<bitpipe_drawn_block>());

constexpr schedule gems() { return catalog::find("gems")->make(shape()); }
constexpr schedule chimera() { return catalog::find("chimera")->make(shape()); }
constexpr schedule chimera_four() { return catalog::find("chimera")->make(four_ways()); }
constexpr schedule doubling() { return catalog::find("chimera-forward-doubling")->make(shape()); }
constexpr schedule halving() { return catalog::find("chimera-backward-halving")->make(shape()); }
constexpr schedule bitpipe() { return catalog::find("bitpipe")->make(shape()); }
constexpr schedule bitpipe_drawn() { return catalog::find("bitpipe")->make(as_drawn()); }
constexpr schedule dualpipe() { return catalog::find("dualpipe")->make(shape()); }
constexpr schedule dualpipev() { return catalog::find("dualpipev")->make(shape()); }

static_assert(valid<gems>());
static_assert(valid<chimera>());
static_assert(valid<chimera_four>());
static_assert(valid<doubling>());
static_assert(valid<halving>());
static_assert(valid<bitpipe>());
static_assert(valid<bitpipe_drawn>());
static_assert(valid<dualpipe>());
static_assert(valid<dualpipev>());
