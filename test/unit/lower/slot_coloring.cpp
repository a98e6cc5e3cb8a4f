#include <ashlar/lower/slot_coloring.hpp>
// First, so that it needs nothing before it.
#include "static_check.hpp"

using namespace ashlar;

namespace {

constexpr bool test_reuse() {
  slot_pool pool;
  int const a = pool.acquire(slot_kind::stash), b = pool.acquire(slot_kind::stash);
  HOLDS(a == 0 && b == 1);
  pool.release(a, 5);
  pool.advance(4);
  HOLDS(pool.acquire(slot_kind::stash) == 2);  // still held until 5
  pool.advance(5);
  HOLDS(pool.acquire(slot_kind::stash) == a);
  HOLDS(pool.slots().size() == 3);
  return true;
}
BOTH_TIMES("a slot is free again from the time of its release", test_reuse)

constexpr bool test_no_reuse() {
  slot_pool pool(slot_reuse::never);
  pool.release(pool.acquire(slot_kind::stash), 0);
  pool.advance(9);
  HOLDS(pool.acquire(slot_kind::stash) == 1);
  return true;
}
BOTH_TIMES("a slot for each value, where nothing is to wait", test_no_reuse)

constexpr bool test_kinds() {
  slot_pool pool;
  int const a = pool.acquire(slot_kind::activation);
  pool.release(a, 0);
  pool.advance(0);
  HOLDS(pool.acquire(slot_kind::gradient) == 1);
  HOLDS(pool.acquire(slot_kind::activation) == a);
  HOLDS(pool.slots() == std::vector<slot_kind>{slot_kind::activation, slot_kind::gradient});
  return true;
}
BOTH_TIMES("kinds do not share slots", test_kinds)

}  // namespace
