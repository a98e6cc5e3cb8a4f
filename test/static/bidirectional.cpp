// Options of the schedules in two directions beside their defaults: Chimera on four routes, BitPipe with
// its units joined as drawn, as blocks and schedules at 8 devices and 32 micro-batches and as programs
// at 4 and 8.
#include <ashlar/catalog/entries.hpp>
#include <ashlar/check/valid.hpp>
#include <ashlar/lower/lower.hpp>

using namespace ashlar;

constexpr catalog::shape four_ways(int p, int m) {
  return {.p = devices{p}, .m = micro_batches{m}, .routes = 4};
}
constexpr catalog::shape as_drawn(int p, int m) {
  return {.p = devices{p}, .m = micro_batches{m}, .junction = catalog::unit_junction::figure};
}

constexpr block chimera_block() { return catalog::find("chimera")->block_of(four_ways(8, 32)); }
constexpr block bitpipe_block() { return catalog::find("bitpipe")->block_of(as_drawn(8, 32)); }
static_assert(valid<chimera_block>());
static_assert(valid<bitpipe_block>());

constexpr schedule chimera() { return catalog::find("chimera")->make(four_ways(8, 32)); }
constexpr schedule bitpipe() { return catalog::find("bitpipe")->make(as_drawn(8, 32)); }
static_assert(valid<chimera>());
static_assert(valid<bitpipe>());

constexpr program chimera_program() { return catalog::find("chimera")->make(four_ways(4, 8)) | lower(); }
constexpr program bitpipe_program() { return catalog::find("bitpipe")->make(as_drawn(4, 8)) | lower(); }
static_assert(valid<chimera_program>());
static_assert(valid<bitpipe_program>());
