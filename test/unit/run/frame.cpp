#include <ashlar/run/frame.hpp>
// The header above comes first: it needs nothing before it.

#include <doctest/doctest.h>

using namespace ashlar;

TEST_CASE("frames have a place for each value that is no port") {
  frame f{.what = {}, .inputs = {}, .outputs = {}};
  for (bool reads : {true, false}) {
    CHECK(place_in(f, slot_kind::activation, reads) == nullptr);
    CHECK(place_in(f, slot_kind::gradient, reads) == nullptr);
    CHECK(place_in(f, slot_kind::checkpoint, reads) == &f.checkpoint);
    CHECK(place_in(f, slot_kind::stash, reads) == &f.stash);
    CHECK(place_in(f, slot_kind::weight_stash, reads) == &f.weight_stash);
    CHECK(place_in(f, slot_kind::weight_gradient, reads) == &f.weight_gradient);
    CHECK(place_in(f, slot_kind::weight, reads) == &f.weight);
    CHECK(place_in(f, slot_kind::work_state, reads) == &f.work_state);
    CHECK(place_in(f, slot_kind::micro_gradient, reads) == &f.micro_gradient);
    for (slot_kind kind : {slot_kind::sequence_state, slot_kind::sequence_gradient})
      CHECK(place_in(f, kind, reads) == (reads ? &f.sequence_input : &f.sequence_output));
  }
  // The reader of work gets its result as a port.
  CHECK(place_in(f, slot_kind::work, true) == nullptr);
  CHECK(place_in(f, slot_kind::work, false) == &f.work_output);
}
