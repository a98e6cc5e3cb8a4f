// Compares plans with exhaustive search, on random small cases.
#include "random.hpp"
#include "random_cases.hpp"
#include "random_transformer.hpp"
#include <ashlar/plan.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

using namespace random_case;

namespace {

variant random_variant(dice& d) {
  return {d.between(1, 30), d.between(0, 12), d.percent(30) ? d.between(1, 9) : 0};
}

// The least cost of `rest` samples within the limit, trying every part.
tick least_of_all(int rest, int n, std::vector<division_option> const& options, part_sizes sizes,
                  byte_count limit) {
  if (rest == 0) return 0;
  tick least = max_tick;
  for (division_option const& o : options)
    if (o.samples <= rest && o.what.memory <= limit && may_be_a_part(sizes, o.samples, n))
      least = std::min(least, saturating_sum(o.what.cost(),
                                             least_of_all(rest - o.samples, n, options, sizes, limit)));
  return least;
}

}  // namespace

TEST_CASE("divisions are the best of all, at every limit") {
  FOR_SEEDS(random_cases(400)) {
    int const n = d.between(1, 9);
    std::vector<division_option> options;
    for (int i = d.between(0, 7); i > 0; --i) options.push_back({d.between(1, 10), random_variant(d)});
    auto const sizes = static_cast<part_sizes>(d.between(0, 2));
    std::vector<division> const front = divide(n, options, sizes);
    for (byte_count limit = 0; limit <= 12; ++limit) {
      int const best =
          cheapest_within(front, limit, [](division const& e) -> variant const& { return e.what; });
      tick const least = least_of_all(n, n, options, sizes, limit);
      CHECK_MESSAGE((best < 0 ? max_tick : front[static_cast<std::size_t>(best)].what.cost()) == least,
                    "seed ", seed);
    }
    for (division const& each : front) {
      variant sum;
      int samples = 0;
      for (int part : each.parts) {
        division_option const& o = options[static_cast<std::size_t>(part)];
        sum = in_turn(sum, o.what);
        samples += o.samples;
        CHECK(may_be_a_part(sizes, o.samples, n));
      }
      CHECK_MESSAGE((sum == each.what && samples == n), "seed ", seed);
    }
  }
}

TEST_CASE("choices are the best of all") {
  FOR_SEEDS(random_cases(600)) {
    std::vector<std::vector<variant>> things(static_cast<std::size_t>(d.between(1, 6)));
    std::size_t combinations = 1;
    for (std::vector<variant>& each : things) {
      for (int k = d.between(1, 4); k > 0; --k) each.push_back(random_variant(d));
      combinations *= each.size();
    }
    byte_count const limit = d.between(0, 12 * static_cast<int>(things.size()));
    tick least = max_tick;
    byte_count smallest = max_tick;
    for (std::size_t number = 0; number < combinations; ++number) {
      variant sum;
      std::size_t rest = number;
      for (std::vector<variant> const& each : things) {
        sum = side_by_side(sum, each[rest % each.size()]);
        rest /= each.size();
      }
      smallest = std::min(smallest, sum.memory);
      if (sum.memory <= limit) least = std::min(least, sum.cost());
    }
    choice const c = choose(things, limit);
    CHECK_MESSAGE(c.missing == std::max<byte_count>(0, smallest - limit), "seed ", seed);
    CHECK_MESSAGE((c.of.empty() ? max_tick : c.what.cost()) == least, "seed ", seed);
    CHECK_MESSAGE((c.of.empty() || c.is_optimal()), "seed ", seed);
    variant sum;
    for (std::size_t i = 0; i < c.of.size(); ++i)
      sum = side_by_side(sum, things[i][static_cast<std::size_t>(c.of[i])]);
    CHECK_MESSAGE((c.of.empty() || (sum == c.what && sum.memory <= limit)), "seed ", seed);
  }
}

namespace {

// Tries every partition of the layers from `first` on.
double least_pipeline_time(cut_costs const& c, int stage_count, std::vector<int>& sizes, int first) {
  int const n = static_cast<int>(c.layer.size());
  if (static_cast<int>(sizes.size()) == stage_count - 1) {
    sizes.push_back(n - first);
    double const time = pipeline_time(c, sizes);
    sizes.pop_back();
    return time;
  }
  double least = 1e300;
  int const rest = stage_count - static_cast<int>(sizes.size()) - 1;
  for (int size = 1; first + size + rest <= n; ++size) {
    sizes.push_back(size);
    least = std::min(least, least_pipeline_time(c, stage_count, sizes, first + size));
    sizes.pop_back();
  }
  return least;
}

}  // namespace

TEST_CASE("partitions are the best of all, and AMP's no better") {
  FOR_SEEDS(random_cases(400)) {
    int const n = d.between(1, 9), p = d.between(1, n);
    cut_costs c;
    c.repeats = d.between(0, 9);
    for (int i = 0; i < n; ++i) {
      c.layer.push_back(d.between(0, 9));
      c.volume.push_back(d.between(0, 9));
    }
    for (int i = 1; i < p; ++i) c.link.push_back(d.between(0, 4));
    std::vector<int> sizes;
    double const least = least_pipeline_time(c, p, sizes, 0);
    CHECK(pipeline_time(c, best_partition(c, p)) == least);
    std::vector<int> const theirs = amp_partition(c, p).sizes();
    CHECK(static_cast<int>(theirs.size()) == p);
    CHECK(pipeline_time(c, theirs) >= least);
  }
}

namespace {

// Tries every division of equal layers over the stages, from `stage` on.
double least_load(int rest, double layer, double head, placement const& where, std::vector<int>& sizes) {
  int const left = where.stage_count() - static_cast<int>(sizes.size());
  if (left == 0) {
    std::vector<double> load(static_cast<std::size_t>(where.device_count()), 0.0);
    for (int stage = 0; stage < where.stage_count(); ++stage)
      load[static_cast<std::size_t>(where.device_of(0, stage))] +=
          layer * sizes[static_cast<std::size_t>(stage)] + (stage + 1 == where.stage_count() ? head : 0);
    return *std::max_element(load.begin(), load.end());
  }
  double least = 1e300;
  for (int size = left == 1 ? rest : 1; size <= rest - left + 1; ++size) {
    sizes.push_back(size);
    least = std::min(least, least_load(rest - size, layer, head, where, sizes));
    sizes.pop_back();
  }
  return least;
}

}  // namespace

TEST_CASE("divisions of layers alike load no device more than they have to") {
  FOR_SEEDS(random_cases(300)) {
    devices const p{d.between(1, 3)};
    placement const where = d.percent(40)   ? linear(p)
                            : d.percent(50) ? v_shape(p)
                                            : looped(p, chunks{2});
    int const n = where.stage_count() + d.between(0, 5);
    double const layer = d.between(1, 9), head = d.between(0, 30);
    std::vector<int> sizes;
    double const least = least_load(n, layer, head, where, sizes);
    sizes = balanced_division(n, layer, head, where);
    std::vector<double> load(static_cast<std::size_t>(p.value), 0.0);
    load[static_cast<std::size_t>(where.device_of(0, where.stage_count() - 1))] += head;
    int sum = 0;
    for (int stage = 0; stage < where.stage_count(); ++stage) {
      int const size = sizes[static_cast<std::size_t>(stage)];
      CHECK(size > 0);
      sum += size;
      load[static_cast<std::size_t>(where.device_of(0, stage))] += layer * size;
    }
    CHECK(sum == n);
    CHECK_MESSAGE(*std::max_element(load.begin(), load.end()) == least, "seed ", seed);
  }
}

TEST_CASE("no training plan is better than the answer, and none that is left out fits or is better") {
  FOR_SEEDS(random_cases(40)) {
    plan_question q;
    q.model = random_transformer(d, 6);
    q.model.value_bytes = d.percent(30) ? 4.0 : 2.0;
    q.kinds[0].machine = {.flops = 1e9,
                          .inside = 1e9 / d.between(1, 30),
                          .between = 1e9 / d.between(1, 60),
                          .memory = 1,
                          .node_size = 1 << d.between(0, 2)};
    q.kinds[0].constants = {1.0 + 0.1 * d.between(0, 9), 1.0 * d.between(0, 4)};
    q.kinds[0].count = 1 << d.between(0, 3);
    q.batch = q.kinds[0].count * d.between(1, 3);
    q.largest_micro_batch = 2;
    q.chunks = q.sequence_chunks = {2};
    q.takes_fewer_devices = d.percent(30);
    if (d.percent(30)) q.objective = plan_objective::device_time;
    if (d.percent(25)) {
      q.lists = {{.tensor = 1, .layers = {}, .causal = {d.between(0, 100), d.between(0, 100)}}};
      for (int i = 0; i < q.model.layers; ++i)
        q.lists[0].layers.push_back({{1e-3 * d.between(1, 9), 1e-3 * d.between(1, 9)},
                                     1.0 * d.between(1, 99),
                                     1.0 * d.between(1, 99),
                                     1.0 * d.between(1, 99)});
    }
    std::vector<catalog::entry const*> entries;
    for (catalog::entry const& e : catalog::entries)
      for (char const* name : {"1f1b", "depth-first", "zb-h1", "v-half", "seq1f1b"})
        if (std::string_view(e.name) == name) entries.push_back(&e);
    // A memory that some plans fit: that of a plan in between.
    std::vector<planned_step> all;
    for (training_plan const& plan : all_plans(q, entries)) {
      planned_step step{.plan = plan};
      find_fullest_device(q, passes_of(plan, plan.micro_batches), step);
      step.seconds = simulated_seconds(q, plan);
      CHECK(least_seconds(q, plan) <= step.seconds);
      all.push_back(step);
    }
    REQUIRE(!all.empty());
    q.kinds[0].machine.memory =
        all[static_cast<std::size_t>(d.between(0, static_cast<int>(all.size()) - 1))].bytes;
    std::vector<double> fitting;
    for (planned_step const& step : all)
      if (step.bytes <= q.kinds[0].machine.memory)
        fitting.push_back(objective_of(q, step.plan, step.seconds));
    std::sort(fitting.begin(), fitting.end());
    auto const top = static_cast<std::size_t>(d.between(1, 4));
    plan_answer const a = answer(q, entries, top, [](plan_phase, std::size_t, std::size_t) {});
    REQUIRE(a.best.size() == std::min(top, fitting.size()));
    CHECK(a.rejected.size() == all.size() - fitting.size());
    CHECK(a.simulated + a.ruled_out == static_cast<int>(fitting.size()));
    for (std::size_t i = 0; i < a.best.size(); ++i) {
      CHECK(objective_of(q, a.best[i].plan, a.best[i].seconds) == fitting[i]);
      CHECK(a.best[i].bound <= a.best[i].seconds);
    }
  }
}
