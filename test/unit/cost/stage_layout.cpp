#include <ashlar/cost/question/stage_layout.hpp>
// The header above comes first: it needs nothing before it.

#include "predicted_runs.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

// The names of predict/ are those of other rooms, too: tests are among them.
namespace ashlar::cost::testing {

namespace {

std::vector<int> counts(std::string_view text) {
  std::vector<int> all;
  for (stage const& s : read_layout(text)) all.push_back(s.count);
  return all;
}

requirement broken_by(std::string_view text) {
  try {
    read_layout(text);
  } catch (unpredictable const& e) {
    return e.broken;
  }
  return requirement::sizes_are_positive;
}

}  // namespace

TEST_CASE("stage layout: Megatron's letters") {
  CHECK(counts("Et*3|(tt|)*29,m|L").size() == 32);
  std::vector<stage> const all = read_layout("Et*3|(tt|)*29,m|L");
  CHECK((all[0] == stage{.first = 0, .count = 3, .has_embedding = true}));
  CHECK((all[1] == stage{.first = 3, .count = 2}));
  CHECK((all[30] == stage{.first = 61, .predictions = 1}));
  CHECK((all[31] == stage{.first = 61, .has_head = true, .streams = 2}));
  CHECK(counts("E(t(t|)*2)*2tL") == std::vector<int>{2, 1, 2, 1, 1});
  CHECK(counts("Et*0|tL") == std::vector<int>{0, 1});
}

TEST_CASE("stage layout: what Megatron asserts against is refused") {
  for (char const* each : {"tE|tL", "t|tL", "t|EtL", "|t|L", "mE|L", "mEt|L", "L|tE", ""})
    CHECK(broken_by(each) == requirement::layout_begins_with_embedding);
  for (char const* each : {"Et|Et|L", "EEt|tL", "(Et|)*2L"})
    CHECK(broken_by(each) == requirement::layout_has_one_embedding);
  for (char const* each : {"Et|t", "EtL|t", "EtL|tm", "EL|t|m", "Et|tLm", "EtL|tL", "Et|L|m|L"})
    CHECK(broken_by(each) == requirement::layout_ends_with_loss);
  for (char const* each : {"Etm|tL", "Emt|L", "E(tm|)*2L"})
    CHECK(broken_by(each) == requirement::layout_predicts_last);
  for (char const* each : {"E|t|L", "Et|mL", "E|t|mm||L", "EtL", "EtmL|"})
    CHECK(broken_by(each) == requirement::sizes_are_positive);
}

TEST_CASE("stage layout: several losses are one each, and states of predictions go along to them") {
  std::vector<stage> const all = read_layout("E|(t|)*2m|m|m|LL|LL");
  REQUIRE(all.size() == 8);
  CHECK(is_spread(all));
  std::vector<int> streams, losses;
  for (stage const& s : all) {
    streams.push_back(s.streams);
    losses.push_back(s.losses);
  }
  CHECK(streams == std::vector<int>{1, 1, 1, 1, 2, 3, 4, 2});
  CHECK(losses == std::vector<int>{0, 0, 0, 0, 0, 0, 2, 2});
  CHECK(is_spread(read_layout("Et|m|mL")));
  for (char const* each : {"Et|tL", "Et|mmL", "Et|m|L", "2,2"}) CHECK(!is_spread(read_layout(each)));
}

TEST_CASE("stage layout: layers of each stage") {
  std::vector<stage> const all = read_layout("7, 8,8,6");
  CHECK((all[0] == stage{.first = 0, .count = 7, .has_embedding = true}));
  CHECK((all[3] == stage{.first = 23, .count = 6, .has_head = true}));
  CHECK(counts("7,8x3,7") == std::vector<int>{7, 8, 8, 8, 7});
  CHECK(counts(" 0 1x4  0 ") == std::vector<int>{0, 1, 1, 1, 1, 0});  // as plans show them
  CHECK(counts("3x0,2x2 , 1") == std::vector<int>{2, 2, 1});
  CHECK(read_layout("7,8x3,7")[4].first == 31);
}

TEST_CASE("stage layout: what is not understood is refused, and nothing grows without end") {
  for (char const* each : {"x", "(tt", "tt)", "*3", "t*", "t**2", "t*2*3", "1,,2", ",1", "1,", "1 ,",
                           " ", "x2", "2x", "2x3x4", "2 x3", "3x0", "Et|3", "(((t*"})
    CHECK(broken_by(each) == requirement::layout_is_read);
  CHECK(broken_by("(((t*9999)*9999)*9999)*9999") == requirement::layout_is_small_enough);
  CHECK(broken_by("1x99999999999,1x99999999999") == requirement::layout_is_small_enough);
  CHECK(broken_by(std::string(100'000, '(')) == requirement::layout_is_read);
  CHECK(broken_by("t*99999999999999999999999999") == requirement::layout_is_small_enough);
}

TEST_CASE("stage layout: it must be that of the model and the pipeline") {
  question q = asked(dense_model(8));
  q.layout.pipeline = 4;
  q.layout.data = 2;
  auto const broken = [&](std::string_view text) {
    q.layout.stages = read_layout(text, q.model.predictions);
    try {
      stages_of(q);
    } catch (unpredictable const& e) {
      return e.broken;
    }
    return requirement::sizes_are_positive;
  };
  CHECK(broken("2,2,4") == requirement::layout_has_every_stage);
  CHECK(broken("2,2,2,3") == requirement::layout_has_every_layer);
  CHECK(broken("1,2,2,3") == requirement::sizes_are_positive);
}

TEST_CASE(
    "stage layout: it has the model's predictions, on a last virtual stage, and the head has all "
    "losses") {
  question q = asked(dense_model(4));
  q.model.predictor = q.model.at(0);
  auto const found = [&](std::string_view text, int predictions, int pipeline, int chunks) {
    q.model.predictions = predictions;
    q.layout.stages = read_layout(text, predictions);
    q.layout.pipeline = pipeline;
    q.layout.chunks = chunks;
    try {
      return losses_of(q.model, stages_of(q).back()) == 1 + predictions ? requirement::sizes_are_positive
                                                                        : requirement::something_trains;
    } catch (unpredictable const& e) {
      return e.broken;
    }
  };
  constexpr requirement none = requirement::sizes_are_positive,
                        missing = requirement::layout_has_every_prediction,
                        early = requirement::layout_predicts_in_last_chunk;
  CHECK(found("Ett|ttL", 0, 2, 1) == none);
  CHECK(found("Ett|ttmL", 0, 2, 1) == missing);
  CHECK(found("Ett|ttL", 1, 2, 1) == missing);
  CHECK(found("Ett|ttmL", 2, 2, 1) == missing);
  CHECK(found("Ett|ttmmL", 1, 2, 1) == missing);
  CHECK(found("2,2", 3, 2, 1) == none);
  CHECK(found("Ettttm|L", 1, 2, 1) == none);
  CHECK(found("Etttt|mm|||L", 2, 5, 1) == none);
  constexpr requirement lost = requirement::layout_has_every_loss;
  CHECK(found("Ett|ttLL", 0, 2, 1) == lost);
  CHECK(found("Etttt|mL|LL", 1, 3, 1) == lost);
  CHECK(found("Etttt|mmL|L", 2, 3, 1) == lost);
  CHECK(found("Etttt|m|LL", 1, 3, 1) == none);
  CHECK(found("Ettt|t|m|L", 1, 2, 2) == none);
  CHECK(found("Etttt|m||L", 1, 2, 2) == early);
}

TEST_CASE("stage layout: without one, layers are divided evenly") {
  question q = asked(dense_model(10));
  q.layout.pipeline = 4;
  q.layout.data = 2;
  std::vector<int> all;
  for (stage const& s : stages_of(q)) all.push_back(s.count);
  CHECK(all == std::vector<int>{2, 3, 3, 2});
  q.layout.pipeline = 8;
  q.layout.data = 1;
  q.layout.chunks = 2;
  CHECK(stages_of(q).size() == 16);
  CHECK(!every_stage_works(q));
  CHECK(last_with_head(stages_of(q)) == 15);
}

// In millions of products a token, a layer takes 15.7 and the head 32.8, all 158.6. Over 4 stages, a
// stage ends with the layer that passes 39.6, 79.3 and 118.9.
TEST_CASE("stage layout: a plain program's stage ends with the block that passes its share") {
  question q = asked(dense_model(8));
  q.program.kind = program_kind::plain;
  q.layout.data = 1;
  auto const divided = [&](int stages) {
    q.layout.pipeline = stages;
    std::vector<int> layers;
    for (stage const& s : stages_of(q)) layers.push_back(s.count);
    return layers;
  };
  CHECK(divided(2) == std::vector<int>{6, 2});
  CHECK(divided(4) == std::vector<int>{3, 3, 2, 0});
  CHECK(last_with_head(stages_of(q)) == 3);
  CHECK(divided(8) == std::vector<int>{2, 1, 1, 2, 1, 1, 0, 0});
  CHECK(last_with_head(stages_of(q)) == 6);
  CHECK(every_stage_works(q));  // the last one takes the loss
  q.layout.pipeline = 16;
  CHECK(!every_stage_works(q));
}

TEST_CASE("stage layout: no stage has less than no layers where there are more stages than layers") {
  question q = asked(dense_model(1));
  q.layout.pipeline = 8;
  q.layout.data = 1;
  q.layout.counts_ends = true;
  int layers = 0;
  for (stage const& s : stages_of(q)) {
    CHECK((s.count >= 0 && s.first + s.count <= 1));
    layers += s.count;
  }
  CHECK(layers == 1);
}

}  // namespace ashlar::cost::testing
