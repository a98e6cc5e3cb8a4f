#include <ashlar/core/pass.hpp>
// The header above comes first: it needs nothing before it.

#include <doctest/doctest.h>

#include <initializer_list>

using namespace ashlar;

namespace {

TEST_CASE("first values: stage 0, micro-batch 0, and the first part of the first job") {
  CHECK(pass{} == pass{pass_kind::forward, 0, 0});
  CHECK(part_id{} == part_id{0, 0});
}

TEST_CASE("what a pass gives") {
  CHECK(result_of(pass_kind::forward) == result::activation);
  CHECK(result_of(pass_kind::recompute) == result::recomputed);
  CHECK(result_of(pass_kind::backward) == result::input_gradient);
  CHECK(result_of(pass_kind::backward_input) == result::input_gradient);
  CHECK(result_of(pass_kind::backward_weight) == result::weight_gradient);
  CHECK(result_of(pass_kind::work) == result::none);
  CHECK(static_cast<int>(result::none) == results);
  CHECK(static_cast<int>(pass_kind::work) + 1 == pass_kinds);
}

TEST_CASE("which passes give gradients") {
  for (int k = 0; k < pass_kinds; ++k) {
    auto const kind = static_cast<pass_kind>(k);
    CHECK(gives_input_gradient(kind) == (result_of(kind) == result::input_gradient));
    CHECK(gives_weight_gradient(kind)
          == (kind == pass_kind::backward || kind == pass_kind::backward_weight));
  }
}

TEST_CASE("a backward is the fused one, or one of its two passes") {
  for (pass_kind const kind :
       {pass_kind::backward, pass_kind::backward_input, pass_kind::backward_weight})
    CHECK(is_backward(kind));
  for (pass_kind const kind : {pass_kind::forward, pass_kind::recompute, pass_kind::work})
    CHECK_FALSE(is_backward(kind));
}

TEST_CASE("a part of work stands among passes, which are none") {
  pass const what = part_id{2, 1};
  CHECK((what.kind == pass_kind::work && is_part(what) && part_of(what) == part_id{2, 1}));
  CHECK((what != part_id{1, 2} && what != part_id{2, 2}));
  CHECK(!is_part({pass_kind::backward_weight, 2, 1}));
}

TEST_CASE("passes are equal by kind, stage and micro-batch") {
  CHECK(pass{} == pass{pass_kind::forward, 0, 0});
  CHECK(pass{pass_kind::forward, 1, 2} != pass{pass_kind::forward, 2, 1});
  CHECK(pass{pass_kind::backward, 1, 2} != pass{pass_kind::backward_input, 1, 2});
}

}  // namespace
