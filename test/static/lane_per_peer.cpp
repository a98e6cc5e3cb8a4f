// Programs at 4 devices and 8 micro-batches, with a transfer lane for each peer.
#include <ashlar/catalog/entries.hpp>
#include <ashlar/check/valid.hpp>
#include <ashlar/lower/lower.hpp>

using namespace ashlar;

constexpr program made(char const* name) {
  return catalog::find(name)->make({.p = devices{4}, .m = micro_batches{8}})
         | lower(lower_options{.lanes = transfer_lanes::one_a_peer});
}
constexpr program one_f_one_b() { return made("1f1b"); }
constexpr program zb_h1() { return made("zb-h1"); }
constexpr program dualpipe() { return made("dualpipe"); }

static_assert(valid<one_f_one_b>());
static_assert(valid<zb_h1>());
static_assert(valid<dualpipe>());
