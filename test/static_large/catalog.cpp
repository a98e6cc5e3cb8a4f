// Schedules at 8 devices and 32 micro-batches that take clang's evaluation a few percent beyond the
// default limit: grouped interleaving makes its orders pass by pass, V-Min looks longest for gaps for
// its weights.
#include <ashlar/catalog/entries.hpp>
#include <ashlar/check/valid.hpp>

using namespace ashlar;

constexpr catalog::shape shape() { return {.p = devices{8}, .m = micro_batches{32}}; }
constexpr schedule grouped() { return catalog::find("grouped-interleaved")->make(shape()); }
constexpr schedule v_min() { return catalog::find("v-min")->make(shape()); }

static_assert(valid<grouped>());
static_assert(valid<v_min>());
