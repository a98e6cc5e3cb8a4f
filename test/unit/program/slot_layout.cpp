#include <ashlar/program/slot_layout.hpp>
// The header above comes first: it needs nothing before it.
#include "shapes.hpp"
#include <ashlar/lower/lower.hpp>

#include <doctest/doctest.h>

using namespace shapes;

namespace {

// Each kind and stage has another layout; stashes want a page.
constexpr value_layout layout_of(value_key key) {
  return {static_cast<std::size_t>(10 * (1 + static_cast<int>(key.kind)) + key.of),
          key.kind == slot_kind::stash ? std::size_t{4096} : std::size_t{16}};
}

TEST_CASE("a slot is as large as what is written into it, and starts where its alignment allows") {
  program const p = one_f_one_b(2, 3) | lower();
  for (int d = 0; d < 2; ++d) {
    slot_table const t = slot_layout(p.view(), 0, d, layout_of);
    auto const kinds = p.view().slots_of(d);
    CHECK((t.size.size() == kinds.size() && t.offset.size() == kinds.size()));
    CHECK(t.alignment == 4096);
    std::size_t end = 0;
    for (std::size_t s = 0; s < kinds.size(); ++s) {
      CHECK(t.offset[s] >= end);
      CHECK(t.offset[s] % (kinds[s] == slot_kind::stash ? 4096 : 64) == 0);
      end = t.offset[s] + static_cast<std::size_t>(t.size[s]);
      // Device d has stage d: it makes what it keeps and sends, the other what it receives.
      bool const received = kinds[s] == (d == 0 ? slot_kind::gradient : slot_kind::activation);
      CHECK(t.size[s] == static_cast<std::int64_t>(layout_of({kinds[s], received ? 1 - d : d}).bytes));
    }
    CHECK(t.total == end);
  }
}

TEST_CASE("elements of two bytes are cut where those of four are") {
  for (std::size_t elements : {0UL, 1UL, 5UL, 22UL, 1001UL})
    for (int ranks : {1, 2, 3, 8})
      for (int rank = 0; rank < ranks; ++rank) {
        byte_range const wide = shard_of(4 * elements, rank, ranks, element_type::f32);
        CHECK(wide == shard_of(4 * elements, rank, ranks));
        for (element_type const narrow : {element_type::bf16, element_type::f16})
          CHECK(shard_of(2 * elements, rank, ranks, narrow)
                == byte_range{wide.begin / 2, wide.size / 2});
      }
}

TEST_CASE("a gradient shard is the rank's part of the gradient") {
  program const p = lower(one_f_one_b(1, 1), {.data_ranks = 3, .sharding = sharding_level::optimizer});
  auto const layout = [](value_key) { return value_layout{100}; };
  std::size_t sum = 0;
  for (int rank = 0; rank < 3; ++rank) {
    slot_table const t = slot_layout(p.view(), rank, 0, layout);
    for (std::size_t s = 0; s < t.size.size(); ++s)
      if (p.view().slots_of(0)[s] == slot_kind::gradient_shard) {
        CHECK(t.size[s] == static_cast<std::int64_t>(shard_of(100, rank, 3).size));
        sum += static_cast<std::size_t>(t.size[s]);
      }
  }
  CHECK(sum == 100);
}

TEST_CASE("elements of two bytes are cut where those of four are, and no others") {
  byte_range const whole = shard_of(1000, 1, 3);
  for (element_type element : {element_type::opaque, element_type::f32, element_type::f64})
    CHECK(shard_of(1000, 1, 3, element) == whole);
  for (element_type element : {element_type::f16, element_type::bf16}) {
    byte_range const half = shard_of(500, 1, 3, element);
    CHECK((2 * half.begin == whole.begin && 2 * half.size == whole.size));
    CHECK(half != shard_of(500, 1, 3));
  }
}

}  // namespace
