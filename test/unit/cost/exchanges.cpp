#include <ashlar/cost/step/exchanges.hpp>
// The header above comes first: it needs nothing before it.

#include "predicted_runs.hpp"
#include <ashlar/cost/question/stack.hpp>
#include <ashlar/cost/step/work.hpp>

#include <doctest/doctest.h>

#include <cmath>

// The names of predict/ are those of other rooms, too: tests are among them.
namespace ashlar::cost::testing {

TEST_CASE("exchanges: tensor ranks in one domain, and in several") {
  constants const c = round_constants();  // half of each link
  question q = asked(dense_model(4), 4);
  q.layout.tensor = 8;
  CHECK(tensor_bytes_seconds(q.cluster, q.layout, 1e9, c) == doctest::Approx(1e9 / (0.5 * 400e9)));
  q.layout.tensor = 16;  // through the node, and over its eight ports
  CHECK(tensor_bytes_seconds(q.cluster, q.layout, 1e9, c)
        == doctest::Approx(1e9 / (0.5 * 400e9) + 1e9 / (0.5 * 8 * 50e9)));
  q.cluster.device().domain = 72;
  CHECK(tensor_bytes_seconds(q.cluster, q.layout, 1e9, c) == doctest::Approx(1e9 / (0.5 * 400e9)));
}

TEST_CASE("exchanges: Megatron-Core hides those of tensor ranks only where these split sequences") {
  constants c = round_constants();
  c.tensor_exposed = 0.8;
  c.tensor_exposed_tuned = 0.2;
  question q = asked(dense_model(4));
  q.layout.tensor = 4;
  q.layout.data = 2;
  auto const seconds = [&](program_kind program, sequence_split splits) {
    q.program.kind = program;
    q.program.sequence_parallel = splits;
    return tensor_seconds(q, work_of(q, q.model.kinds[0]), c);
  };
  double const off = seconds(program_kind::recipe, sequence_split::off);
  CHECK(seconds(program_kind::recipe, sequence_split::on) == doctest::Approx(0.25 * off));
  CHECK(seconds(program_kind::tuned, sequence_split::on) == off);  // not by Megatron-LM's defaults
  q.program.facts.say(fact::tensor_overlap, is_on);
  CHECK(seconds(program_kind::tuned, sequence_split::on) == doctest::Approx(0.25 * off));
  q.program.facts = {};
  CHECK(seconds(program_kind::plain, sequence_split::off) == off);
  CHECK(seconds(program_kind::plain, sequence_split::on) == off);
  // Programs do it like this: older ones not where layers run again whole.
  for (recomputation again : {recomputation::none, recomputation::full}) {
    q.layout.recompute = again;
    bool const is_whole = again == recomputation::full;
    for (program_kind program : {program_kind::plain, program_kind::classic, program_kind::tuned}) {
      q.program.kind = program;
      q.program.sequence_parallel = sequence_split::automatic;
      CHECK(stack_of(q).splits_sequences == (program == program_kind::tuned || !is_whole));
      q.program.sequence_parallel = is_whole ? sequence_split::on : sequence_split::off;
      CHECK(stack_of(q).splits_sequences == is_whole);
    }
  }
  q.layout.recompute = recomputation::none;
  q.program.kind = program_kind::plain;
  // Where they do not, every rank has the norms of all tokens.
  q.program.sequence_parallel = sequence_split::on;
  double const split = work_of(q, q.model.kinds[0]).forward_bytes;
  q.program.sequence_parallel = sequence_split::off;
  CHECK(work_of(q, q.model.kinds[0]).forward_bytes - split
        == doctest::Approx(2 * 2 * 5 * 1024.0 * (2048 - 2048 / 4)));
}

TEST_CASE("exchanges: a transfer is as it was measured, if it was") {
  constants const c = round_constants();
  question q = asked(dense_model(4), 4);
  q.layout.pipeline = 4;
  q.layout.data = 8;
  double const counted = 2 * 2048 * 1024.0 / (0.5 * 50e9) + c.latency;
  CHECK(transfer_seconds(q, bytes_after(q, {}), c) == doctest::Approx(counted));
  q.measured.transfer = 0.25;
  CHECK(transfer_seconds(q, bytes_after(q, {}), c) == 0.25);
}

TEST_CASE("exchanges: to how many domains the tokens of experts go") {
  feed_forward f{.kind = feed_forward_kind::experts, .experts = 64, .chosen = 8};
  CHECK(tokens_to_domain(f, 1) == 1);
  CHECK(tokens_to_domain(f, 8) == doctest::Approx(1 - std::pow(7 / 8.0, 8)));
  f.groups = 8;
  f.chosen_groups = 4;
  CHECK(tokens_to_domain(f, 1) == 1);
  // A domain has a group, or half of one.
  CHECK(tokens_to_domain(f, 8) == doctest::Approx(0.5 * (1 - std::pow(3 / 4.0, 8))));
  CHECK(tokens_to_domain(f, 16) == doctest::Approx(0.5 * (1 - std::pow(7 / 8.0, 8))));
  // There are two groups: of the ways to choose four of eight, 15 have none of them, 40 one and 15 both.
  double const exact = (40 * (1 - std::pow(3 / 4.0, 8)) + 15 * (1 - std::pow(1 / 2.0, 8))) / 70;
  CHECK(tokens_to_domain(f, 4) == doctest::Approx(exact).epsilon(0.05));
  f.chosen_groups = 8;
  CHECK(tokens_to_domain(f, 8) == doctest::Approx(1 - std::pow(7 / 8.0, 8)));
}

TEST_CASE("exchanges: limits to groups and 8 bits of a dispatch make less of it") {
  constants const c = round_constants();
  question q = asked(routed_model(4), 2);
  q.layout.expert = 16;
  auto const seconds = [&](double groups, bool in_8_bits) {
    feed_forward f = q.model.kinds[1].feed;
    f.groups = groups;
    f.chosen_groups = 1;
    q.program.dispatches_8_bits = in_8_bits;
    return expert_seconds(q, work_of(q, q.model.kinds[1]), f, c) - 2 * latency_seconds(16, c);
  };
  // Either of two experts is in the other domain with a half; both in one group, half of all tokens go
  // there.
  CHECK(seconds(2, false) == doctest::Approx(seconds(0, false) * 0.5 / 0.75));
  // 8 of 2 x 16 bits are left out, and a scale of 32 for each 128 values is added.
  CHECK(seconds(2, true) == doctest::Approx(seconds(2, false) * (3 + 1 / 32.0) / 4));
}

TEST_CASE("exchanges: a ring's steps are slower between domains") {
  question q = asked(dense_model(4), 4);
  CHECK(ring_seconds(q.cluster, q.layout, 1, 1) == 0);
  CHECK(ring_seconds(q.cluster, q.layout, 8, 1) == doctest::Approx(7 * 3.4e-6));
  CHECK(ring_seconds(q.cluster, q.layout, 32, 1) == doctest::Approx(4 * 14e-6 + 27 * 3.4e-6));
  CHECK(ring_seconds(q.cluster, q.layout, 4, 8) == doctest::Approx(3 * 14e-6));
  q.cluster.device().domain = 72;
  CHECK(ring_seconds(q.cluster, q.layout, 32, 1) == doctest::Approx(31 * 3.4e-6));
}

TEST_CASE("exchanges: a message in the domain has the link of its pair, and a value's bytes") {
  question q = asked(dense_model(8));
  q.layout.pipeline = 8;
  q.layout.data = 1;
  constants const c = round_constants();
  double const bytes = 1e9;
  double const switched = transfer_seconds(q, bytes, c) - c.latency;
  CHECK(switched == doctest::Approx(bytes / (400e9 * c.link_inside)));
  q.cluster.device().pair = 400e9 / 7;
  CHECK(transfer_seconds(q, bytes, c) - c.latency == doctest::Approx(7 * switched));
  q.layout.data = 8;  // neighbours are on other nodes
  q.cluster.kinds.front().devices = 64;
  CHECK(transfer_seconds(q, bytes, c) - c.latency == doctest::Approx(bytes / (50e9 * c.link_outside)));
  stage const first{.count = 1};
  double const in_16_bits = bytes_after(q, first);
  q.program.format = number_format::fp32;
  CHECK(bytes_after(q, first) == doctest::Approx(2 * in_16_bits));
}

}  // namespace ashlar::cost::testing
