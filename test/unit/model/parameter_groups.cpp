#include <ashlar/model/parameter_groups.hpp>
// First, so that it needs nothing before it.
#include "static_check.hpp"

using namespace ashlar;

namespace {

constexpr bool test_shared_replicas() {
  placement const down = linear(devices{3});
  HOLDS(replicas(down, 1) == std::vector<int>{1});
  placement const both = overlay(mirror(down), down);
  HOLDS(replicas(both, 0) == std::vector<int>{2, 0});  // in the order of the routes
  HOLDS(replicas(both, 1) == std::vector<int>{1});     // routes that meet share the weights
  HOLDS(replicas(overlay(both, both), 2) == std::vector<int>{0, 2});
  HOLDS(replica_of(both, 0, 0) == 1 && replica_of(both, 0, 2) == 0 && replica_of(both, 0, 1) == -1);
  return true;
}
BOTH_TIMES("replicas in the order of the routes", test_shared_replicas)

constexpr bool test_chunks() {
  placement const down = looped(devices{2}, chunks{2});
  HOLDS(chunks_of(down, 1) == std::vector<int>{1, 3});
  placement const both = overlay(down, mirror(down));
  HOLDS(chunks_of(both, 1) == std::vector<int>{1, 3, 0, 2});  // by route first
  placement const three = linear(devices{3});
  HOLDS(chunks_of(overlay(three, mirror(three)), 1) == std::vector<int>{1});  // each once
  return true;
}
BOTH_TIMES("chunks in the order of route and stage", test_chunks)

constexpr bool test_middle() {
  HOLDS(is_middle(0, 1) && is_middle(0, 2) && is_middle(1, 2));
  HOLDS(!is_middle(0, 3) && is_middle(1, 3) && !is_middle(2, 3));
  HOLDS(!is_middle(2, 8) && is_middle(3, 8) && is_middle(4, 8) && !is_middle(5, 8));
  return true;
}
BOTH_TIMES("the middle of a pipeline", test_middle)

constexpr bool test_shards() {
  for (std::size_t bytes : {0UL, 5UL, 8UL, 72UL, 100UL, 4096UL})
    for (int ranks : {1, 2, 3, 7}) {
      std::size_t at = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        byte_range const shard = shard_of(bytes, rank, ranks);
        HOLDS(shard.begin == at && at % 8 == 0);
        HOLDS(shard.size <= bytes / static_cast<std::size_t>(ranks) + 16);
        at += shard.size;
      }
      HOLDS(at == bytes);
    }
  HOLDS(shard_of(72, 0, 2) == byte_range{0, 32} && shard_of(72, 1, 2) == byte_range{32, 40});
  return true;
}
BOTH_TIMES("shards cover a buffer, in order", test_shards)

}  // namespace
