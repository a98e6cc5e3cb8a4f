#include <ashlar/run/identity.hpp>
// The header above comes first: it needs nothing before it.
#include <ashlar/catalog/entries.hpp>
#include <ashlar/core/version.hpp>
#include <ashlar/lower/lower.hpp>

#include <doctest/doctest.h>

#include <string>

using namespace ashlar;

namespace {

struct with_layout {
  value_layout one = {64, 64, element_type::f64};
  value_layout layout(value_key) const { return one; }
};

schedule small_pipeline() { return catalog::find("1f1b")->make({devices{2}, micro_batches{2}}); }

}  // namespace

TEST_CASE("identity: the same for all ranks, another for another program or model") {
  program const p = lower(small_pipeline(), {.data_ranks = 3, .sharding = sharding_level::full});
  identity const mine = identity_of(p.view(), with_layout{});
  CHECK(mine == identity_of(p.view(), with_layout{}));
  CHECK(mine.ranks == 3);
  CHECK(std::string(mine.version) == version);

  program const other =
      lower(small_pipeline(), {.data_ranks = 3, .sharding = sharding_level::gradients});
  CHECK(identity_of(other.view(), with_layout{}).program != mine.program);
  for (value_layout const& each :
       {value_layout{72, 64, element_type::f64}, value_layout{64, 128, element_type::f64},
        value_layout{64, 64, element_type::f32}}) {
    identity const its = identity_of(p.view(), with_layout{each});
    CHECK(its.layouts != mine.layouts);
    CHECK(its.program == mine.program);
    CHECK(!(its == mine));
  }
}

TEST_CASE("identity: in words, all that is in it") {
  identity one{.program = 0xfedcba9876543210, .layouts = 0x00000000000000f7, .devices = 2, .stages = 4};
  one.micro_batches = 8;
  one.ranks = 3;
  one.instructions = 99;
  one.version[0] = '7';
  CHECK(to_string(one)
        == "version 7, 2 devices, 4 stages, 8 micro-batches, 3 data-parallel ranks, 99 instructions, "
           "program fedcba9876543210, model shape 00000000000000f7");
}
