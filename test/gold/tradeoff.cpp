// Efficiencies of breadth-first and depth-first pipelines as the breadth-first paper has them (figures 2
// to 4): 8 devices, 64 layers, a backward of three forwards, 16 micro-batches.
#include "violations.hpp"
#include <ashlar/study/tradeoff.hpp>

#include <vector>

using namespace ashlar;

namespace {

double efficiency(char const* name, int loops, tick transfer, bool blocks) {
  layered_model const model{.layers = 64, .forward = 10, .backward = 30, .transfer = transfer};
  return utilisation(model, {catalog::find(name), devices{8}, chunks{loops}, micro_batches{16}, blocks});
}

TEST_CASE("breadth-first keeps rising with the loops, depth-first turns down when transfers are slow") {
  struct row {
    tick transfer;  // of 10 a layer's forward
    double breadth_first[4], depth_first[4];
  };
  row const rows[] = {{2, {.693, .817, .897, .943}, {.687, .801, .858, .862}},
                      {10, {.683, .803, .880, .924}, {.655, .729, .721, .632}}};
  for (row const& r : rows)
    for (int i = 0; i < 4; ++i) {
      int const loops = 1 << i;
      CAPTURE(r.transfer);
      CAPTURE(loops);
      // One loop is plain 1F1B in Megatron.
      char const* const interleaved = loops == 1 ? "1f1b" : "depth-first";
      CHECK(efficiency("breadth-first", loops, r.transfer, false)
            == doctest::Approx(r.breadth_first[i]).epsilon(0.01));
      CHECK(efficiency(interleaved, loops, r.transfer, true)
            == doctest::Approx(r.depth_first[i]).epsilon(0.01));
    }
}

TEST_CASE("reductions hide behind the passes unless transfers block") {
  layered_model const free{.layers = 64, .forward = 10, .backward = 30, .transfer = 2};
  layered_model dear = free;
  dear.reduction = 20;
  pipeline_choice choice{catalog::find("breadth-first"), devices{8}, chunks{4}, micro_batches{16}};
  // Gradients are reduced stage by stage as they complete; after the last pass only the last stage of a
  // device is left.
  CHECK(step_time(dear, choice) - step_time(free, choice) == 2 * 20);
  choice.blocks = true;
  CHECK(step_time(dear, choice) - step_time(free, choice) == 4 * 2 * 20);
}

TEST_CASE("no step is shorter than its bound") {
  layered_model const model{.layers = 64, .forward = 10, .backward = 30, .transfer = 2, .reduction = 30};
  int bounded = 0;
  for (catalog::entry const& listed : catalog::entries)
    for (bool blocks : {false, true}) {
      pipeline_choice const choice{&listed, devices{4}, chunks{2}, micro_batches{8}, blocks};
      if (!listed.check({.p = choice.p, .m = choice.m, .v = choice.loops}).ok()) continue;
      CAPTURE(listed.name);
      auto const least = least_step_time(model, choice);
      bounded += least ? 1 : 0;
      if (least) CHECK(step_time(model, choice) >= *least);
    }
  CHECK(bounded > 20);
  // 1F1B is as good as its memory lets it be: after the last pass, one reduction of 16 layers.
  pipeline_choice const choice{catalog::find("1f1b"), devices{4}, chunks{1}, micro_batches{8}, true};
  CHECK(step_time(model, choice) == *least_step_time(model, choice));
  CHECK(utilisation_of(model, choice, *least_step_time(model, choice)) == utilisation(model, choice));
}

TEST_CASE("no device computes for longer than a step takes, and for inference nothing goes backwards") {
  layered_model const model{.layers = 64, .forward = 10, .backward = 30, .transfer = 0};
  for (catalog::entry const& listed : catalog::entries) {
    pipeline_choice const choice{&listed, devices{4}, chunks{2}, micro_batches{8}};
    if (!listed.check({.p = choice.p, .m = choice.m, .v = choice.loops}).ok()) continue;
    CAPTURE(listed.name);
    CHECK(utilisation(model, choice) <= 1);
  }
  pipeline_choice const choice{catalog::find("inference"), devices{4}, chunks{1}, micro_batches{8}};
  CHECK(utilisation(model, choice) == doctest::Approx(8.0 / (8 + 4 - 1)));
}

TEST_CASE("two stages a device are half as long, whatever the schedule takes for its chunks") {
  layered_model const model{.layers = 64, .forward = 10, .backward = 30};
  auto const work_of = [&](char const* name) {
    return busy(step_schedule(model, {catalog::find(name), devices{4}, chunks{1}, micro_batches{8}}));
  };
  for (char const* name : {"1f1b", "v-half", "hanayo", "seq1f1b"})
    CHECK(work_of(name) == std::vector<tick>(4, 8 * 16 * 40));
}

TEST_CASE("cost and training time") {
  CHECK(training_cost(1, 0, 100, 1000) == 1);
  CHECK(training_cost(0.5, 10, 100, 1000) == 4);  // as many samples again, half of the time idle
  CHECK(training_time(4, 100) == 0.04);
  CHECK(batch_per_device({.micro_batch = 2}, {nullptr, devices{8}, chunks{1}, micro_batches{16}}) == 4);
  CHECK_BREAKS(parameter_is_a_multiple, step_time({.layers = 10}, {catalog::find("1f1b"), devices{4},
                                                                   chunks{1}, micro_batches{4}}));
}

}  // namespace
