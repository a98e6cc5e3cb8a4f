// Runs on several kinds of devices.
#include <ashlar/cost/choose/dealing.hpp>
// The header above comes first: it needs nothing before it.
#include "predicted_runs.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/cost/choose/layouts.hpp>
#include <ashlar/cost/choose/shared_batch.hpp>
#include <ashlar/cost/question/rank_questions.hpp>
#include <ashlar/cost/step/answer.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <string_view>

namespace ashlar::cost::testing {

namespace {

// The question of one kind with its devices in two kinds of equal figures, or of others.
question in_two_kinds(question q, double slower = 1) {
  device_kind const all = q.cluster.kinds.front();
  device_kind first = all, second = all;
  first.name = "first";
  second.name = "second";
  first.devices = second.devices = all.devices / 2;
  second.device.peak.bf16 /= slower;
  second.device.peak.fp16 /= slower;
  q.cluster.kinds = {first, second};
  q.program.kind = program_kind::tuned;
  return q;
}

// Four nodes, each with a pipeline rank of two tensor and four data ranks.
question piped_question() {
  question q = asked(dense_model(10, 2048), 4);
  q.layout.pipeline = 4;
  q.layout.tensor = 2;
  q.layout.data = 4;
  q.batch = 32;
  q.program.kind = program_kind::tuned;
  return q;
}

}  // namespace

TEST_CASE("kinds: two alike are as one, to the last digit") {
  question const q = piped_question();
  question const two = in_two_kinds(q);
  constants const c = round_constants();
  answer const a = predict_run(q, c, {}), b = predict_run(two, c, {});
  CHECK(a.step.seconds == b.step.seconds);
  CHECK(a.memory == b.memory);
  CHECK(a.operations == b.operations);
  CHECK(!b.has_interval());
}

TEST_CASE("kinds: two alike are as one where ranks have several stages, on one route or two") {
  question q = piped_question();
  q.model = dense_model(16, 2048);
  constants const c = round_constants();
  for (char const* name : {"", "depth-first", "v-half", "chimera"}) {
    CAPTURE(name);
    q.layout.chunks = name == std::string_view("chimera") ? 1 : 2;
    if (*name != 0) q.layout.order = catalog::find(name);
    for (message how : {message::single, message::batched, message::beside}) {
      q.program.facts.say(fact::transfers, static_cast<unsigned char>(how));
      answer const a = predict_run(q, c, {}), b = predict_run(in_two_kinds(q), c, {});
      CHECK(a.step.seconds == b.step.seconds);
      CHECK(a.memory == b.memory);
    }
  }
}

TEST_CASE("kinds: a slower half makes the step longer, and dealing takes layers from it") {
  question const even = in_two_kinds(piped_question(), 3);
  constants const c = round_constants();
  double const before = predict_run(even, c, {}).step.seconds;
  CHECK(before > predict_run(piped_question(), c, {}).step.seconds);
  dealing const dealt = deal_layers(even, c);
  REQUIRE(!dealt.stages.empty());
  CHECK(dealt.seconds < before);
  int fast = 0, slow = 0;
  for (std::size_t s = 0; s < dealt.stages.size(); ++s)
    (s < dealt.stages.size() / 2 ? fast : slow) += dealt.stages[s].count;
  CHECK(fast > slow);
  question q = even;
  q.layout.stages = dealt.stages;
  CHECK(predict_run(q, c, {}).step.seconds == dealt.seconds);
}

// Tries every division of a short model.
TEST_CASE("kinds: without virtual stages the division is the best of all") {
  for (int slower : {1, 2, 5}) {
    question q = in_two_kinds(piped_question(), slower);
    q.cluster.between_kinds = 1e9;
    constants const c = round_constants();
    dealing const dealt = deal_layers(q, c);
    double best = 1e30;
    int const layers = q.model.layer_count();
    for (int i = 0; i <= layers; ++i)
      for (int j = i; j <= layers; ++j)
        for (int k = j; k <= layers; ++k) {
          int const ends[] = {i, j, k, layers};
          q.layout.stages.clear();
          for (int s = 0, first = 0; s < 4; first = ends[s++])
            q.layout.stages.push_back(
                {.first = first, .count = ends[s] - first, .has_embedding = s == 0, .has_head = s == 3});
          bool const works = std::none_of(q.layout.stages.begin() + 1, q.layout.stages.end() - 1,
                                          [](stage const& s) { return s.count == 0; });
          if (works) best = std::min(best, predict_run(q, c, {}).step.seconds);
        }
    CHECK(dealt.seconds == doctest::Approx(best).epsilon(1e-9));
  }
}

TEST_CASE("kinds: ranks of two kinds are as slow as the slower, and hold what the smaller may") {
  question q = in_two_kinds(piped_question(), 2);
  q.cluster.kinds[1].device.memory_bytes /= 4;
  q.layout.pipeline = 1;
  q.layout.data = 16;
  CHECK(kinds_of_rank(q, 0) == std::vector<int>{0, 1});
  rank_questions const on(q);
  CHECK(on.of(0).cluster.device().peak.bf16 == q.cluster.kinds[1].device.peak.bf16);
  CHECK(on.of(0).cluster.device().memory_bytes == q.cluster.kinds[1].device.memory_bytes);
  CHECK(on.of(0).cluster.device_count() == 32);
}

TEST_CASE("kinds: what a link between them takes, and what is refused") {
  constants const c = round_constants();
  question q = in_two_kinds(piped_question());
  double const before = predict_run(q, c, {}).step.seconds;
  q.cluster.between_kinds = 1e8;
  CHECK(predict_run(q, c, {}).step.seconds > before);
  auto const is_refused = [&](question const& asked, requirement why) {
    try {
      predict_run(asked, c, {});
    } catch (unpredictable const& e) {
      return e.broken == why;
    }
    return false;
  };
  question inside = q;
  inside.layout.pipeline_inside = true;
  CHECK(is_refused(inside, requirement::kinds_follow_the_pipeline));
  question odd = q;
  odd.cluster.kinds[0].devices = 15;
  odd.cluster.kinds[1].devices = 17;
  odd.cluster.kinds[0].device.per_node = odd.cluster.kinds[1].device.per_node = 1;
  CHECK(is_refused(odd, requirement::kinds_have_whole_ranks));
}

TEST_CASE("kinds: the search takes them in any order, and leaves out those that help nothing") {
  question q = in_two_kinds(piped_question(), 40);
  constants const c = round_constants();
  open_sizes open;
  open.stages = true;
  layouts_found const found = best_layouts(q, open, c, 4, [](layouts_found const&) { return true; });
  REQUIRE(!found.best.empty());
  question alone = q;
  alone.cluster = of_kinds(q.cluster, {0});
  layouts_found const fast = best_layouts(alone, open, c, 1, [](layouts_found const&) { return true; });
  REQUIRE(!fast.best.empty());
  CHECK(found.best[0].seconds <= fast.best[0].seconds);
  for (ranked_layout const& each : found.best)
    CHECK(predict_run(each.asked, c, {}).step.seconds == each.seconds);
}

TEST_CASE("kinds: pipelines of one kind each share the batch by speed") {
  constants const c = round_constants();
  open_sizes const open;
  auto const watch = [](layouts_found const&) { return true; };
  shared_batch const alike = share_batch(in_two_kinds(piped_question()), open, c, watch),
                     slower = share_batch(in_two_kinds(piped_question(), 3), open, c, watch);
  REQUIRE(alike.shares.size() == 2);
  REQUIRE(slower.shares.size() == 2);
  CHECK(alike.shares[0].asked.batch == 16);
  CHECK(slower.shares[0].asked.batch > 16);
  CHECK(slower.shares[0].asked.batch + slower.shares[1].asked.batch == 32);
  CHECK(slower.seconds() > alike.seconds());
  CHECK(share_batch(piped_question(), open, c, watch).shares.empty());
}

}  // namespace ashlar::cost::testing
