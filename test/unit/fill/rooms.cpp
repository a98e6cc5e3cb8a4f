#include <ashlar/fill/rooms.hpp>
// First, so that it needs nothing before it.
#include "shapes.hpp"
#include "static_check.hpp"

using namespace shapes;

namespace {

constexpr bool test_rooms() {
  schedule const s = one_f_one_b(3, 2);  // device 0 idles from 2 to 7 and from 9 to 10
  dynamic_array<room> rooms = rooms_of(s, 0, 12, 2, false);
  HOLDS(rooms.size() == 4);
  HOLDS(rooms[0] == room{2, 7, 7} && rooms[2] == room{14, 19, 19});
  occupy(rooms, 0, 3, 5);
  HOLDS(rooms.size() == 5);
  HOLDS(rooms[0] == room{2, 3, 7} && rooms[1] == room{5, 7, 7}
        && rooms[4].start == rooms_of(s, 0, 12, 2, false)[3].start);
  occupy(rooms, 1, 5, 6);
  HOLDS(rooms.size() == 5 && rooms[1] == room{6, 7, 7});
  return true;
}
BOTH_TIMES("parts take their time out of rooms", test_rooms)

constexpr bool test_margin_of_rooms() {
  room const r{2, 6, 8};     // another part lies from 6 to 8
  HOLDS(r.holds(2, 4, 50));  // 2 ticks are left free at the end of the gap, as it were
  HOLDS(!r.holds(2, 4, 51));
  HOLDS(!r.holds(3, 4, 0) && !r.holds(1, 4, 0));
  HOLDS(r.latest_start(3, 0) == 3);
  HOLDS(r.latest_start(3, 100) == 2);
  HOLDS(r.latest_start(3, 67) == 2);  // 2.01 ticks, rounded up
  return true;
}
BOTH_TIMES("a margin is left at the end of the gap", test_margin_of_rooms)

}  // namespace
