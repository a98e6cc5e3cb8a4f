// Schedules of every family at 8 devices and 32 micro-batches, as programs. (All entries have their
// programs proved at 4 devices and 8 micro-batches in static/programs_*.cpp.)
#include <ashlar/catalog/entries.hpp>
#include <ashlar/check/valid.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/program/freeze.hpp>

using namespace ashlar;

constexpr program made(char const* name) {
  return catalog::find(name)->make({.p = devices{8}, .m = micro_batches{32}}) | lower();
}

constexpr program gpipe() { return made("gpipe"); }
constexpr program one_f_one_b() { return made("1f1b"); }
constexpr program eager() { return made("eager-1f1b"); }
constexpr program zb_h1() { return made("zb-h1"); }
constexpr program v_half() { return made("v-half"); }
constexpr program chimera() { return made("chimera"); }
constexpr program dualpipe() { return made("dualpipe"); }
constexpr program inference() { return made("inference"); }

static_assert(valid<gpipe>());
static_assert(valid<one_f_one_b>());
static_assert(valid<eager>());
static_assert(valid<zb_h1>());
static_assert(valid<v_half>());
static_assert(valid<chimera>());
static_assert(valid<dualpipe>());
static_assert(valid<inference>());

static_assert(freeze<zb_h1>.view().device_count == 8);
