// A checked program as static data.
#include <ashlar/catalog/entries.hpp>
#include <ashlar/check/valid.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/prove/freeze.hpp>

using namespace ashlar;

constexpr program make() {
  return catalog::zb_h1(devices{4}) | repeat(micro_batches{8}) | squeeze() | lower();
}

static_assert(valid<make>());

constexpr auto const& frozen = freeze<make>;
constexpr program_view view = frozen.view();

static_assert(view.device_count == 4 && view.micro_batch_count == 8);
static_assert(view.stream_begin[4] == static_cast<int>(view.instructions.size()));
static_assert(view.stream(0)[1].what == pass{pass_kind::forward, 0, 0});
static_assert(count_slots(view, 3, slot_kind::stash) == 4);
