#include <ashlar/prove/same_sums.hpp>
// The header above comes first: it needs nothing before it.
#include "mutate.hpp"
#include "shapes.hpp"
#include <ashlar/block/algebra.hpp>
#include <ashlar/lower/lower.hpp>

#include <doctest/doctest.h>

#include <algorithm>

using namespace shapes;
using namespace mutate;

namespace {

TEST_CASE("programs add up gradients in the same order") {
  program const fused = one_f_one_b(2, 3) | lower();
  // Other instructions, in any form, make no difference.
  program const split = catalog::find("zb-h1")->make({devices{2}, micro_batches{3}}) | lower();
  CHECK(check_same_sums(fused.view(), split.view()).ok());

  // Two weight passes change places.
  program other = split;
  int const first = find(split, 1, opcode::compute, {W, 1, 0}),
            second = find(split, 1, opcode::compute, {W, 1, 1});
  exchange(other, 1, first, second);
  diagnosis const d = check_same_sums(split.view(), other.view());
  CHECK(d.broken == rule::gradients_are_summed_in_the_same_order);
  CHECK((d.first.device == 1 && d.first.what == pass{W, 1, 1}));
  CHECK((d.second.what == pass{W, 1, 0} && d.number == 1));
}

TEST_CASE("stages that share parameters add to them in the same order") {
  // A V has the first and the last stage on one device: what they share is summed in the order in which
  // both come to it.
  schedule const s = catalog::find("v-half")->make({devices{2}, micro_batches{3}});
  lower_options tied{.shared_parameters = {{0, 3}}};
  program const before = s | lower(tied);
  program after = before;
  // The first two passes of different stages that add to it.
  int one = -1, two = -1;
  for (int i = before.stream_begin[0]; i < before.stream_begin[1] && two < 0; ++i) {
    instruction const& self = before.instructions[static_cast<std::size_t>(i)];
    if (self.code != opcode::compute || !gives_weight_gradient(self.what.kind)) continue;
    if (one < 0)
      one = i;
    else if (self.what.stage != before.instructions[static_cast<std::size_t>(one)].what.stage)
      two = i;
    else
      one = i;
  }
  CHECK((two > one && one >= 0));
  exchange(after, 0, one, two);
  diagnosis const d = check_same_sums(before.view(), after.view());
  CHECK((d.broken == rule::gradients_are_summed_in_the_same_order && d.number == 4));
  program const apart = s | lower();
  CHECK(check_same_sums(before.view(), apart.view()).broken == rule::programs_share_alike);
}

TEST_CASE("scatters of a gradient are a part of its sum") {
  // If a buffer is scattered when another stage needs it, the place of the scatter counts.
  schedule const s = catalog::find("breadth-first")->make({devices{2}, micro_batches{2}});
  lower_options whole{.data_ranks = 2, .sharding = sharding_level::optimizer};
  lower_options parts{.data_ranks = 2, .sharding = sharding_level::gradients};
  program const a = s | lower(whole), b = s | lower(parts);
  CHECK(check_same_sums(a.view(), a.view()).ok());
  CHECK(check_same_sums(a.view(), b.view()).broken == rule::programs_share_alike);
  program fewer = b;
  for (std::size_t i = 0; i < fewer.instructions.size(); ++i)
    if (fewer.instructions[i].code == opcode::reduce_scatter) {
      fewer.instructions[i].code = opcode::release;
      break;
    }
  CHECK(check_same_sums(b.view(), fewer.view()).broken == rule::gradients_are_summed_in_the_same_order);
}

TEST_CASE("a sum may begin with the first instruction of a device") {
  program p = catalog::find("1f1b")->make({devices{1}, micro_batches{1}}) | lower();
  while (p.instructions[0].what.kind != pass_kind::backward)
    std::rotate(p.instructions.begin(), p.instructions.begin() + 1, p.instructions.end());
  CHECK(check_same_sums(p.view(), p.view()).ok());
}

}  // namespace
