#include <ashlar/core/sequence_costs.hpp>
// The header above comes first: it needs nothing before it.

#include <doctest/doctest.h>

#include <vector>

using namespace ashlar;

namespace {

constexpr tick sum_of(costs const& c, pass_kind kind, int stage) {
  tick sum = 0;
  for (int chunk = 0; chunk < c.passes.sequence_chunks(); ++chunk) sum += c.of({kind, stage, chunk}, 0);
  return sum;
}

TEST_CASE("later chunks attend to more") {
  // Half of the sequence's forward is attention: the first of two chunks takes 1/4 + 1/8 of it.
  finer_costs const halves = with_causal_chunks(costs(stage_cost{3, 5, 7}, 2), 2, {.forward = 50});
  CHECK((halves.unit == 4 && halves.cost.passes.sequence_chunks() == 2));
  CHECK(halves.cost.passes == pass_costs::by_stage_and_sequence_chunk({{9, 20, 28}, {15, 20, 28}}, 2));
  CHECK(halves.cost.transfer(0, 1) == 8);
  // All of it is attention: as 1 to 3 to 5.
  finer_costs const thirds =
      with_causal_chunks(costs(stage_cost{1, 1, 1, 2}), 3, {.forward = 100, .backward_input = 100});
  CHECK(thirds.unit == 3);
  CHECK(thirds.cost.passes
        == pass_costs::by_stage_and_sequence_chunk({{1, 1, 3, 2}, {3, 3, 3, 6}, {5, 5, 3, 10}}, 3));
  costs const plain(stage_cost{3, 5, 7}, 2);
  CHECK((with_causal_chunks(plain, 4, {}).cost == plain && with_causal_chunks(plain, 4, {}).unit == 1));
  CHECK(with_causal_chunks(plain, 1, {80, 90}).cost == plain);  // one chunk is the sequence
  costs pairs = plain;
  pairs.passes.overlapped = 11;
  CHECK(with_causal_chunks(pairs, 2, {.forward = 50}).cost.passes.overlapped == 44);
}

TEST_CASE("passes of a sequence that take no time take none in its chunks") {
  finer_costs const made = with_causal_chunks(costs(stage_cost{0, 0, 0, 0}), 2, {.forward = 50});
  for (pass_kind kind :
       {pass_kind::forward, pass_kind::backward_input, pass_kind::backward_weight, pass_kind::recompute})
    CHECK(sum_of(made.cost, kind, 0) == 0);
}

TEST_CASE("a refusal says how many costs there are, and how many may be") {
  auto const why = [](costs const& c) {
    try {
      with_causal_chunks(c, 2, {.forward = 50});
    } catch (violation const& v) {
      return v.why;
    }
    return diagnosis{};
  };
  CHECK(why(pass_costs::by_stage_and_sequence_chunk({{}, {}, {}}, 3))
        == wrong_size(table::sequence_chunk_costs, 3, 1));
  CHECK(why(pass_costs::by_stage_and_micro_batch({{}, {}, {}}, 3))
        == wrong_size(table::sequence_chunk_costs, 3, 1));
}

TEST_CASE("chunks take together what the sequence takes") {
  costs const whole(std::vector<stage_cost>{{3, 5, 7}, {2, 9, 4, 6}});
  for (int q : {2, 3, 4, 8})
    for (causal_share const share : {causal_share{30, 46}, causal_share{1, 0}, causal_share{0, 99}}) {
      finer_costs const made = with_causal_chunks(whole, q, share);
      for (pass_kind kind : {pass_kind::forward, pass_kind::backward_input, pass_kind::backward_weight,
                             pass_kind::recompute})
        for (int stage : {0, 1}) {
          CHECK(sum_of(made.cost, kind, stage) == q * made.unit * whole.of({kind, stage, 0}, 0));
          for (int chunk = 1; chunk < q; ++chunk)
            CHECK(made.cost.of({kind, stage, chunk}, 0) >= made.cost.of({kind, stage, chunk - 1}, 0));
        }
      costs back = of_whole_sequences(made.cost);
      CHECK((back.passes.sequence_chunks() == 1 && back.passes.stages() == 2));
      CHECK(back.passes.of(1).recompute == q * made.unit * 6);
      CHECK(back.passes.of(0).forward == q * made.unit * 3);
    }
  CHECK(of_whole_sequences(whole) == whole);
}

TEST_CASE("shares of a sequence that cannot be") {
  auto const refused = [](costs const& c, int q, causal_share share) {
    try {
      with_causal_chunks(c, q, share);
    } catch (violation const& v) {
      return v.why.broken;
    }
    return rule{};
  };
  CHECK(refused({}, 0, {}) == rule::counts_are_positive);
  CHECK(refused({}, 2, {.forward = 101}) == rule::sizes_fit);
  CHECK(refused({}, 2, {.backward_input = -1}) == rule::sizes_fit);
  CHECK(refused(pass_costs::by_stage_and_sequence_chunk({{}, {}}, 2), 2, {}) == rule::tables_agree);
  costs const each(pass_costs::by_stage_and_micro_batch({{1}, {2}}, 2));
  CHECK(refused(each, 2, {.forward = 50}) == rule::tables_agree);
  CHECK(with_causal_chunks(each, 2, {}).cost == each);
}

}  // namespace
