#include <ashlar/cost/question/even_divisions.hpp>
// The header above comes first: it needs nothing before it.

#include "predicted_runs.hpp"
#include "random_cases.hpp"
#include "recorded_rows.hpp"
#include <ashlar/cost/choose/dealing.hpp>
#include <ashlar/cost/question/stage_layout.hpp>
#include <ashlar/cost/step/once_a_step.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ashlar::cost::testing {

namespace {

using recorded_rows::put;

std::vector<std::vector<int>> counts_of(std::vector<std::vector<stage>> const& all) {
  std::vector<std::vector<int>> counts;
  for (std::vector<stage> const& each : all) {
    counts.emplace_back();
    for (stage const& s : each) counts.back().push_back(s.count);
  }
  std::sort(counts.begin(), counts.end());
  return counts;
}

// Every list of layers by stage that the header describes, found by trying all.
std::vector<std::vector<int>> all_in_even_rounds(int layers, int p, int v) {
  std::vector<std::vector<int>> all;
  for (int base = 1; base <= layers; ++base)
    for (int longer = 0; longer < v; ++longer)
      for (int first = 0; first <= base + (longer > 0 ? 2 : 1); ++first)
        for (int last = 0; last <= base + 1; ++last) {
          std::vector<int> counts;
          for (int s = 0; s < p * v; ++s) counts.push_back(base + (s / p < longer ? 1 : 0));
          counts.front() = first;
          counts.back() = last;
          int sum = 0;
          for (int each : counts) sum += each;
          if (sum == layers) all.push_back(counts);
        }
  std::sort(all.begin(), all.end());
  return all;
}

std::int64_t tag_of(std::vector<stage> const& all) {
  recorded_rows::tag made;
  for (stage const& s : all)
    made.add(s.first, s.count, s.has_embedding, s.has_head, s.predictions, s.losses, s.streams,
             s.streams_after());
  return made.sum();
}

// A layout as a text, mostly one that can be read.
std::string any_text(random_case::dice& roll) {
  std::string text;
  if (roll.percent(30)) {
    for (int i = roll.between(1, 4); i > 0; --i) {
      text += std::to_string(roll.between(0, 9));
      if (roll.percent(40)) text += "x" + std::to_string(roll.between(0, 3));
      if (i > 1 || roll.percent(10)) text += roll.percent(70) ? "," : roll.percent(70) ? " " : " , ";
    }
    return text;
  }
  constexpr char const* parts[] = {"t",   "t",           "t|", "|",  "(t|)*3",
                                   "t*2", "((tt)*2|)*2", "m",  "t,", "(t)*0"};
  text = "E";
  for (int i = roll.between(1, 5); i > 0; --i) text += parts[roll.between(0, 9)];
  text += roll.percent(80) ? "L" : roll.percent(50) ? "mL|mLL" : "LL";
  if (roll.percent(20))
    text[static_cast<std::size_t>(roll.between(0, static_cast<int>(text.size()) - 1))] =
        "Et|*(L2)"[roll.between(0, 7)];
  return text;
}

}  // namespace

TEST_CASE("divisions: in even rounds, all of them are found") {
  for (int p : {2, 3})
    for (int v : {2, 3})
      for (int layers = 1; layers <= 3 * p * v; ++layers) {
        layout sizes;
        sizes.pipeline = p;
        sizes.chunks = v;
        CAPTURE(p);
        CAPTURE(v);
        CAPTURE(layers);
        CHECK(counts_of(deals_in_even_rounds(dense_model(layers), sizes))
              == all_in_even_rounds(layers, p, v));
      }
}

TEST_CASE("divisions: a piece takes and holds what the stage of its parts does") {
  constants const c = round_constants();
  random_case::dice roll(84);
  int compared = 0;
  while (compared < 20) {
    question q = random_question(roll);
    q.layout.chunks = 1;
    q.layout.stages = deal_evenly(q.model, q.layout);
    part_chain const chain(q.model, q.layout);
    if (q.layout.pipeline == 1 || chain.count() > 12) continue;
    ++compared;
    dealt_pieces const pieces = pieces_of(q, c);
    CHECK(pieces.parts == chain.count());
    CHECK(pieces.room == q.cluster.device().memory_bytes - c.outside_bytes);
    CHECK(pieces.ends == chain.ends_of(q.layout.stages));
    double const lost = 1 + c.straggler * std::log2(std::fmax(1, node_count(q.cluster)));
    int first = 0, end = 0;
    for (dealt_piece const& each : pieces.all) {
      first = end == chain.count() ? first + 1 : first;
      end = end == chain.count() ? first + 1 : end + 1;
      CHECK(each.first == first);
      CHECK(each.end == end);
      std::vector<stage> const one{chain.stage_of(first, end)};
      stage_needs const needs = needs_of(q, one, false, c)[0];
      stage_passes const passes = passes_of(q, one, c)[0];
      CHECK(each.resident == memory_of_device(q, needs, 0, 1, c).all());
      CHECK(each.kept == needs.kept);
      CHECK(each.through == doctest::Approx(lost * passes.seconds()));
      once_a_step const once =
          once_on(q, needs.held.trained,
                  {.forward = passes.forward.seconds(), .backward = passes.backward.seconds()}, 1, c);
      CHECK(each.pace
            == doctest::Approx((q.micro_batches() - 1) * lost * passes.seconds() + once.data
                               + once.optimizer));
    }
    CHECK(first + 1 == chain.count());
    CHECK(end == chain.count());
  }
}

TEST_CASE("divisions: as before, and layouts are read as before") {
  random_case::dice roll(83);
  recorded_rows::table rows;
  for (int i = 0; i < random_cases(300); ++i) {
    architecture model = dense_model(roll.between(1, 12));
    if (roll.percent(15)) model.vocabulary = 0;
    if (roll.percent(50)) model.predictions = roll.between(0, 3);
    layout sizes;
    sizes.pipeline = roll.between(1, 4);
    sizes.chunks = roll.between(1, 3);
    sizes.spreads_losses = roll.percent(50);
    part_chain const chain(model, sizes);
    recorded_rows::row made;
    put(made, chain.count(), tag_of(chain.single_parts()));
    int const stages = sizes.pipeline * sizes.chunks;
    recorded_rows::tag tags;
    if (stages <= chain.count()) {
      std::vector<stage> const even = deal_evenly(model, sizes);
      tags.add(tag_of(even));
      std::vector<int> const ends = chain.ends_of(even);
      for (int each : ends) tags.add(each);
      tags.add(tag_of(chain.stages_of(ends)));
      int const from = roll.between(0, stages - 1), to = roll.between(0, stages - 1);
      for (int each : with_part_moved(ends, from, to)) tags.add(each);
      std::vector<double> seconds, shares;
      for (int part = 0; part < chain.count(); ++part) seconds.push_back(roll.between(1, 9));
      for (int s = 0; s < stages; ++s) shares.push_back(roll.between(1, 9));
      tags.add(tag_of(deal_in_proportion(chain, seconds, shares)));
    }
    if (stages > 2)
      for (auto const& each : deals_in_even_rounds(model, sizes)) tags.add(tag_of(each));
    put(made, tags.sum());
    for (int k = 0; k < 4; ++k) {
      std::string const text = any_text(roll);
      try {
        put(made, tag_of(read_layout(text, roll.between(0, 2))));
      } catch (unpredictable const& e) {
        put(made, -1000000 * static_cast<int>(e.broken) - 1000 * e.number - e.limit);
      }
    }
    rows.push_back(made);
  }
  recorded_rows::must_be_as_before("predict/even_divisions_as_before.txt", rows);
}

}  // namespace ashlar::cost::testing
