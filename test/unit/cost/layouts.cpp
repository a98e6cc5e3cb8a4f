#include <ashlar/cost/choose/layouts.hpp>
// The header above comes first: it needs nothing before it.

#include "predicted_runs.hpp"
#include "random_cases.hpp"
#include <ashlar/cost/choose/layouts_for_pairs.hpp>
#include <ashlar/cost/step/answer.hpp>

#include <doctest/doctest.h>

#include <climits>
#include <cstddef>
#include <optional>
#include <vector>

namespace ashlar::cost::testing {

namespace {

constexpr auto go_on = [](layouts_found const&) { return true; };

question asked_of_16() {
  question q = asked(dense_model(8), 2);
  q.batch = 24;
  return q;
}

// Tries every size up to the devices, even where sizes do not divide.
std::optional<double> fastest_of_all(question q, constants const& c) {
  std::optional<double> fastest;
  for (q.layout.tensor = 1; q.layout.tensor <= q.cluster.device_count(); ++q.layout.tensor)
    for (q.layout.pipeline = 1; q.layout.pipeline <= q.cluster.device_count(); ++q.layout.pipeline)
      for (q.layout.context = 1; q.layout.context <= q.cluster.device_count(); ++q.layout.context) {
        if (q.cluster.device_count() % (q.layout.tensor * q.layout.pipeline * q.layout.context) != 0)
          continue;
        q.layout.data =
            q.cluster.device_count() / (q.layout.tensor * q.layout.pipeline * q.layout.context);
        for (q.layout.micro_batch = 1; q.layout.micro_batch <= q.batch; q.layout.micro_batch *= 2)
          for (q.layout.chunks = 1; q.layout.chunks <= 16; ++q.layout.chunks)
            for (bool ends : {false, true})
              for (sharding s : {sharding::none, sharding::optimizer, sharding::full})
                for (recomputation r :
                     {recomputation::none, recomputation::attention, recomputation::full}) {
                  q.layout.counts_ends = ends;
                  q.layout.sharding = s;
                  q.layout.recompute = r;
                  q.program.kind = s == sharding::full ? program_kind::automatic : program_kind::recipe;
                  int const layers = q.model.layer_count() + (ends ? 2 : 0);
                  if ((ends && (q.layout.pipeline == 1 || layers % q.layout.pipeline != 0))
                      || !is_usual(q))
                    continue;
                  try {
                    answer const a = predict_run(q, c, {});
                    if (a.fits && (!fastest || a.step.seconds < *fastest)) fastest = a.step.seconds;
                  } catch (unpredictable const&) {
                  }
                }
      }
  return fastest;
}

TEST_CASE("layouts: the fastest that fits is the fastest of all") {
  question q = asked_of_16();
  for (double const memory : {4e9, 8e9, 80e9}) {
    CAPTURE(memory);
    q.cluster.device().memory_bytes = memory;
    layouts_found const found = best_layouts(q, {}, round_constants(), 5, go_on);
    std::optional<double> const fastest = fastest_of_all(q, round_constants());
    REQUIRE(found.best.empty() == !fastest);
    CHECK(found.tried > 100);
    if (fastest) CHECK(found.best[0].seconds == *fastest);
    for (std::size_t i = 0; i < found.best.size(); ++i) {
      ranked_layout const& l = found.best[i];
      answer const a = predict_run(l.asked, round_constants(), {});
      CHECK((a.fits && a.step.seconds == l.seconds && a.peak == l.peak));
      if (i > 0) CHECK(found.best[i - 1].seconds <= l.seconds);
    }
  }
}

TEST_CASE("layouts: a filter leaves the best of what it lets through") {
  question const q = asked_of_16();
  layouts_found const all = best_layouts(q, {}, round_constants(), 1000, go_on);
  auto const in_pipelines = [](question const& each) { return each.layout.pipeline == 4; };
  layouts_found const some = best_layouts(q, {}, round_constants(), 3, go_on, in_pipelines);
  std::vector<double> seconds;
  for (ranked_layout const& each : all.best)
    if (each.asked.layout.pipeline == 4 && seconds.size() < 3) seconds.push_back(each.seconds);
  REQUIRE(some.best.size() == 3);
  REQUIRE(seconds.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(some.best[i].asked.layout.pipeline == 4);
    CHECK(some.best[i].seconds == seconds[i]);
  }
  CHECK(some.count(left_out::unwanted) > 0);
  CHECK(some.tried + some.count(left_out::unwanted) >= all.tried);
  CHECK(all.count(left_out::unwanted) == 0);
  layouts_found const none =
      best_layouts(q, {}, round_constants(), 3, go_on, [](question const&) { return false; });
  CHECK((none.best.empty() && none.smallest.empty() && none.tried == 0));
}

// The fastest that fits, among every set of parts and every number of first layers that leave.
std::optional<double> fastest_that_sends(question q, constants const& c) {
  std::optional<double> fastest;
  for (bool optimizer : {false, true})
    for (unsigned bits = 0; bits < 256; bits = bits == 127 ? 128 : bits == 128 ? 256 : bits + 1)
      for (int first = bits == 128 ? 1 : chosen_layers::all; first <= (bits == 128 ? 8 : -1); ++first) {
        q.layout.offload = {static_cast<offloaded>(bits), {.first = first, .these = {}}, optimizer};
        if (has(q.layout.offload.parts, offloaded::attention_result)
            && !has(q.layout.offload.parts, offloaded::attention))
          continue;
        answer const a = predict_run(q, c, {});
        if (a.fits && (!fastest || a.step.seconds < *fastest)) fastest = a.step.seconds;
      }
  return fastest;
}

TEST_CASE("layouts: what does not fit sends to the host what takes least, if that is open") {
  constants const c = round_constants();
  question q = asked_of_16();
  q.program.kind = program_kind::tuned;
  q.cluster.device() = hopper_with_host();
  q.layout.tensor = 2;
  q.layout.sharding = sharding::optimizer;
  open_sizes open{.micro_batch = false,
                  .tensor = false,
                  .pipeline = false,
                  .chunks = false,
                  .context = false,
                  .data = false,
                  .shares = false,
                  .again = false,
                  .ends = false};
  int sent = 0, none = 0;
  question sender = q;
  for (int const pipeline : {1, 2})
    for (double const memory : {3.9e9, 4.1e9, 4.3e9, 4.5e9, 4.8e9, 5.5e9})
      for (double const link : {1e9, 50e9, 500e9}) {
        CAPTURE(memory);
        CAPTURE(link);
        q.layout.pipeline = pipeline;
        q.layout.data = 8 / pipeline;
        q.cluster.device().memory_bytes = memory;
        q.cluster.device().host.link = link;
        open.leaves = false;
        bool const fits_as_it_is = !best_layouts(q, open, c, 1, go_on).best.empty();
        open.leaves = true;
        layouts_found const found = best_layouts(q, open, c, 1, go_on);
        std::optional<double> const fastest = fastest_that_sends(q, c);
        REQUIRE(found.best.empty() == !fastest);
        if (!fastest) {
          ++none;
          continue;
        }
        // For values that leave in the first layers, it tries the fewest alone, and parts before these.
        CHECK(found.best[0].seconds <= *fastest * 1.05);
        CHECK(found.best[0].seconds >= *fastest * (1 - 1e-12));
        CHECK(found.best[0].asked.layout.offload.is_any() == !fits_as_it_is);
        if (fits_as_it_is) continue;
        ++sent;
        sender = q;
      }
  CHECK(sent > 5);
  CHECK(none > 0);
  sender.cluster.device().host = {};
  CHECK(best_layouts(sender, open, c, 1, go_on).best.empty());
}

TEST_CASE("layouts: what is not open stays, and more freedom is never slower") {
  question q = asked_of_16();
  q.layout.tensor = 2;
  q.layout.pipeline = 4;
  q.layout.data = 2;
  q.layout.sharding = sharding::optimizer;
  open_sizes open;
  open.tensor = open.pipeline = open.shares = open.data = false;
  layouts_found const some = best_layouts(q, open, round_constants(), 100, go_on);
  REQUIRE(!some.best.empty());
  for (ranked_layout const& l : some.best)
    CHECK((l.asked.layout.tensor == 2 && l.asked.layout.pipeline == 4 && l.asked.layout.data == 2
           && l.asked.layout.context == 1 && l.asked.layout.sharding == sharding::optimizer));
  CHECK(best_layouts(q, {}, round_constants(), 1, go_on).best[0].seconds <= some.best[0].seconds);
}

TEST_CASE("layouts: none fits, and the one that holds least is told") {
  question q = asked_of_16();
  q.cluster.device().memory_bytes = 1e6;
  layouts_found const found = best_layouts(q, {}, round_constants(), 5, go_on);
  CHECK((found.best.empty() && found.too_large() == found.tried));
  REQUIRE(found.smallest.size() == 1);
  CHECK(found.smallest[0].peak > 1e6);
}

TEST_CASE("layouts: a watch ends it, and what cannot be says why") {
  question q = asked_of_16();
  int calls = 0;
  layouts_found const found = best_layouts(q, {}, round_constants(), 5, [&](layouts_found const&) {
    ++calls;
    return false;
  });
  CHECK(calls == 1);
  CHECK(found.tried <= 1024);
  q.batch = 7;  // nobody can share it
  q.layout.data = 4;
  q.layout.tensor = 2;
  q.layout.pipeline = 2;
  open_sizes open;
  open.data = open.tensor = open.pipeline = false;
  layouts_found const none = best_layouts(q, open, round_constants(), 5, go_on);
  CHECK((none.tried == 0 && none.best.empty() && none.smallest.empty()));
  REQUIRE(none.refused.size() == 1);
  CHECK_THROWS_AS(predict_run(none.refused[0], round_constants(), {}), unpredictable);
}

TEST_CASE("layouts: a watch is asked before layers are divided, and without it they are not") {
  question q = asked_of_16();
  q.model.vocabulary = 250000;  // an even division has the last stage take longest
  q.layout.pipeline = 4;
  q.layout.data = 4;
  open_sizes open;
  open = {false, false, false, false, false, false, false, false, false, false, false};
  std::vector<ranked_layout> const even = best_layouts(q, open, round_constants(), 1, go_on).best;
  open.stages = true;
  layouts_found const divided = best_layouts(q, open, round_constants(), 1, go_on);
  int calls = 0;
  layouts_found const ended = best_layouts(q, open, round_constants(), 1, [&](layouts_found const&) {
    ++calls;
    return false;
  });
  CHECK(calls == 1);
  CHECK((divided.is_whole && !ended.is_whole));
  REQUIRE((even.size() == 1 && divided.best.size() == 1 && ended.best.size() == 1));
  CHECK(divided.best[0].seconds < even[0].seconds);
  CHECK(ended.best[0].seconds == even[0].seconds);
  CHECK(ended.best[0].asked.layout.stages.empty());
}

// The last requirement there is.
TEST_CASE("layouts: what no layout can run is counted with its reason") {
  question q = asked_of_16();
  q.program.attention = attention_kernel::flash_3;
  q.cluster.device().built = generation::ampere;
  layouts_found const found =
      best_layouts(q, {.tensor = true, .pipeline = true}, round_constants(), 3, go_on);
  CHECK((found.best.empty() && found.smallest.empty() && found.refused.size() == 1));
  long long sum = 0;
  for (long long of_one : found.by_requirement) sum += of_one;
  CHECK((sum > 0 && sum == found.count(left_out::refused)));
  CHECK(found.by_requirement[static_cast<std::size_t>(requirement::kernel_is_for_the_machine)] > 0);
}

TEST_CASE("layouts: sizes that are none are refused, and none may be wanted") {
  question q = asked_of_16();
  for (int* const size : {&q.cluster.kinds.front().devices, &q.batch, &q.layout.micro_batch,
                          &q.layout.tensor, &q.layout.pipeline, &q.layout.context, &q.layout.expert,
                          &q.layout.expert_tensor, &q.layout.data})
    for (int const wrong : {0, -1, INT_MIN}) {
      int const before = *size;
      *size = wrong;
      open_sizes none;
      none = {false, false, false, false, false, false, false, false, false, false, false};
      for (open_sizes const& open : {none, open_sizes{}})
        CHECK_THROWS_AS(best_layouts(q, open, round_constants(), 5, go_on), unpredictable);
      *size = before;
    }
  layouts_found const found = best_layouts(asked_of_16(), {}, round_constants(), 0, go_on);
  CHECK((found.best.empty() && found.too_large() < found.tried));
}

TEST_CASE("layouts: with more open, never slower, and each is as it is predicted alone") {
  question q = asked_of_16();
  q.model = routed_model(9);
  q.cluster.device().domain = 32;  // ranks of several stages are in one
  open_sizes all;
  all.stages = all.parts = all.order = all.format = true;
  for (double const memory : listed_cases(std::vector<double>{3.7e9, 4e9, 80e9})) {
    CAPTURE(memory);
    q.cluster.device().memory_bytes = memory;
    layouts_found const plain = best_layouts(q, {}, round_constants(), 5, go_on),
                        found = best_layouts(q, all, round_constants(), 5, go_on);
    CHECK(found.best.empty() <= plain.best.empty());
    if (!plain.best.empty()) CHECK(found.best[0].seconds <= plain.best[0].seconds);
    for (ranked_layout const& l : found.best) {
      answer const a = predict_run(l.asked, round_constants(), {});
      CHECK((a.fits && a.step.seconds == l.seconds && a.peak == l.peak));
      CHECK(l.bound <= l.seconds);
    }
  }
}

// A layout that is left out as slower is slower with any recomputation.
TEST_CASE("layouts: what is run again is what makes it fit") {
  question q = asked_of_16();
  q.layout.tensor = 1;
  q.layout.pipeline = 4;
  q.layout.data = 4;
  q.layout.sharding = sharding::optimizer;
  q.program.kind = program_kind::tuned;
  open_sizes only;
  only = {false, false, false, false, false, false, false, false, false, true, false};
  only.parts = true;
  double const whole = predict_run(q, round_constants(), {}).peak;
  q.layout.recompute = recomputation::full;
  double const least = predict_run(q, round_constants(), {}).peak;
  REQUIRE(least < whole);
  q.cluster.device().memory_bytes = round_constants().outside_bytes + (least + whole) / 2;
  layouts_found const found = best_layouts(q, only, round_constants(), 1, go_on);
  REQUIRE(found.best.size() == 1);
  CHECK(found.best[0].asked.layout.recompute != recomputation::none);
  CHECK(found.best[0].seconds < predict_run(q, round_constants(), {}).step.seconds);
}

TEST_CASE("layouts: experts' ranks are divisors of their number") {
  question q = asked_of_16();
  q.model = routed_model(8);
  layouts_found const found = best_layouts(q, {}, round_constants(), 1000, go_on);
  REQUIRE(!found.best.empty());
  bool apart = false;
  for (ranked_layout const& l : found.best) {
    CHECK(16 % l.asked.layout.expert == 0);
    CHECK((l.asked.layout.expert_tensor == 1 || l.asked.layout.expert_tensor == l.asked.layout.tensor));
    apart = apart || l.asked.layout.expert > 1;
  }
  CHECK(apart);
}

TEST_CASE("layouts: pipelines whose experts' exchange pairs could hide are found, too") {
  question q = asked_of_16();
  q.model = routed_model(8);
  open_sizes open;
  CHECK(best_layouts(q, open, round_constants(), 1, go_on).for_pairs.empty());
  open.pairs = true;
  layouts_found const found = best_layouts(q, open, round_constants(), 1, go_on);
  REQUIRE(!found.for_pairs.empty());
  CHECK(found.for_pairs.size() <= 4);
  for (ranked_layout const& l : found.for_pairs) {
    step_terms const step = step_of(l.asked, stages_of(l.asked), round_constants());
    double exchanged = 0;
    for (std::size_t s = 0; s < step.of_stages.size(); ++s)
      exchanged +=
          step.micro_batches[s] * (step.of_stages[s].forward.expert + step.of_stages[s].backward.expert);
    double const in_pairs = layouts_detail::layouts_for_pairs::seconds_of(l.asked, step);
    CHECK((in_pairs < step.seconds && in_pairs >= (step.seconds - exchanged) * (1 - 1e-12)));
    CHECK(l.asked.layout.pipeline > 1);
    CHECK(l.asked.layout.expert > 1);
    CHECK(predict_run(l.asked, round_constants(), {}).fits);
    CHECK(l.seconds >= found.best[0].seconds);
  }
}

TEST_CASE("layouts: embedding and loss as a layer each") {
  question q = asked(dense_model(6));
  q.layout.pipeline = 2;
  q.layout.counts_ends = true;
  q.program.kind = program_kind::tuned;
  std::vector<stage> const stages = stages_of(q);
  REQUIRE(stages.size() == 2);
  CHECK(stages[0].count == stages[1].count);
  CHECK(stages[0].count + stages[1].count == q.model.layer_count());
  q.layout.pipeline = 4;
  std::vector<stage> const many = stages_of(q);
  CHECK((many.front().count == 1 && many[1].count == 2 && many.back().count == 1));
}

}  // namespace

}  // namespace ashlar::cost::testing
