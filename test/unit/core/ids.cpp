#include <ashlar/core/ids.hpp>
// The header above comes first: it needs nothing before it.

#include <doctest/doctest.h>

#include <type_traits>

using namespace ashlar;

namespace {

template <class From, class To>
constexpr bool unrelated = !std::is_convertible_v<From, To> && !std::is_constructible_v<To, From>;

static_assert(unrelated<devices, micro_batches>);
static_assert(unrelated<stage_id, device_id>);
static_assert(unrelated<micro_batches, micro_batch_id>);
static_assert(unrelated<chunks, waves>);
static_assert(!std::is_convertible_v<int, devices>);
static_assert(!std::is_convertible_v<devices, int>);
static_assert(std::is_trivially_copyable_v<devices> && sizeof(devices) == sizeof(int));

TEST_CASE("ids hold their value and nothing else") {
  CHECK(devices{}.value == 0);
  CHECK(devices{4}.value == 4);
  CHECK(devices{4} == devices{4});
  CHECK(stage_id{1} != stage_id{2});
}

}  // namespace
