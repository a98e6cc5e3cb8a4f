#include <ashlar/lower/slot_coloring.hpp>
// The header above comes first: it needs nothing before it.

#include <doctest/doctest.h>

using namespace ashlar;

namespace {

TEST_CASE("a slot is free again from the time of its release") {
  slot_pool pool;
  int const a = pool.acquire(slot_kind::stash), b = pool.acquire(slot_kind::stash);
  CHECK((a == 0 && b == 1));
  pool.release(a, 5);
  pool.advance(4);
  CHECK(pool.acquire(slot_kind::stash) == 2);  // still held until 5
  pool.advance(5);
  CHECK(pool.acquire(slot_kind::stash) == a);
  CHECK(pool.slots().size() == 3);
}

TEST_CASE("a slot for each value, where nothing is to wait") {
  slot_pool pool(slot_reuse::never);
  pool.release(pool.acquire(slot_kind::stash), 0);
  pool.advance(9);
  CHECK(pool.acquire(slot_kind::stash) == 1);
}

TEST_CASE("kinds do not share slots") {
  slot_pool pool;
  int const a = pool.acquire(slot_kind::activation);
  pool.release(a, 0);
  pool.advance(0);
  CHECK(pool.acquire(slot_kind::gradient) == 1);
  CHECK(pool.acquire(slot_kind::activation) == a);
  CHECK(std::vector(pool.slots().begin(), pool.slots().end())
        == std::vector<slot_kind>{slot_kind::activation, slot_kind::gradient});
}

}  // namespace
