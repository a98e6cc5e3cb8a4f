#include <ashlar/fill/rooms.hpp>
// The header above comes first: it needs nothing before it.
#include "shapes.hpp"

#include <doctest/doctest.h>

using namespace shapes;

namespace {

TEST_CASE("parts take their time out of rooms") {
  schedule const s = one_f_one_b(3, 2);  // device 0 idles from 2 to 7 and from 9 to 10
  dynamic_array<room> rooms = rooms_of(s, 0, 12, 2, false);
  CHECK(rooms.size() == 4);
  CHECK((rooms[0] == room{{2, 7}, 7} && rooms[2] == room{{14, 19}, 19}));
  occupy(rooms, 0, 3, 5);
  CHECK(rooms.size() == 5);
  CHECK((rooms[0] == room{{2, 3}, 7} && rooms[1] == room{{5, 7}, 7}
         && rooms[4].start == rooms_of(s, 0, 12, 2, false)[3].start));
  occupy(rooms, 1, 5, 6);
  CHECK((rooms.size() == 5 && rooms[1] == room{{6, 7}, 7}));
}

TEST_CASE("a margin is left at the end of the gap") {
  room const r{{2, 6}, 8};   // another part lies from 6 to 8
  CHECK(r.holds(2, 4, 50));  // 2 ticks are left free at the end of the gap, as it were
  CHECK(!r.holds(2, 4, 51));
  CHECK((!r.holds(3, 4, 0) && !r.holds(1, 4, 0)));
  CHECK(r.latest_start(3, 0) == 3);
  CHECK(r.latest_start(3, 100) == 2);
  CHECK(r.latest_start(3, 67) == 2);  // 2.01 ticks, rounded up
}

}  // namespace
