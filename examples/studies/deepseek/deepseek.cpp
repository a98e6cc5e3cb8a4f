// DeepSeek-V3's step on 2,048 H800 from the seconds that its phases take: they give the parts of a
// layer's passes, these the pair, and DualPipe's schedule over whole layers the step.
#include "../report.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/core/part_costs.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/simulate/part_timeline.hpp>

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace ashlar;
using json = nlohmann::json;

// Passes of all devices: those that run alone, and pairs.
struct counted_passes {
  double forwards = 0, fused = 0, inputs = 0, weights = 0, pairs = 0;

  explicit counted_passes(schedule const& s) {
    for (auto const& order : s.order)
      for (time_slot const& t : order)
        ++(t.is_pair()                                ? pairs
           : t.what.kind == pass_kind::forward        ? forwards
           : t.what.kind == pass_kind::backward       ? fused
           : t.what.kind == pass_kind::backward_input ? inputs
                                                      : weights);
  }
};

constexpr double ticks_a_second = 1e9;
tick ticks(double seconds) { return std::llround(seconds * ticks_a_second); }

// Seconds of the passes of a layer.
struct layer_seconds {
  double forward = 0, input = 0, weight = 0, pair = 0;
};

// Attention and experts compute, dispatch and combine exchange. A pair takes as long as it computes if
// its exchanges are hidden; then the exchanges of both are the difference to its passes.
stage_parts parts_of(layer_seconds const& l, double layers) {
  using enum part_resource;
  double const moves = (l.forward + l.input + l.weight - l.pair) / 2;
  auto const half = [&](double all) { return ticks(all / 2 * layers); };
  pass_part const move{exchange, half(moves)}, go{compute, half(l.forward - moves)},
      back{compute, half(l.input - moves)}, weight{compute, half(l.weight), true};
  return {.forward = {go, move, go, move}, .backward = {move, back, weight, move, back, weight}};
}

// Seconds of a step in which each pass is one time, and where devices compute and exchange at the same
// time.
struct step_seconds {
  double as_passes = 0, of_parts = 0;
};

step_seconds step_of(char const* name, catalog::shape shape, std::vector<stage_parts> stages,
                     braiding how, double optimizer) {
  part_costs const parts{std::move(stages), how};
  shape.cost = costs(costs_of(parts));
  schedule const s = catalog::find(name)->make(shape);
  auto const seconds = [&](tick t) { return static_cast<double>(t) / ticks_a_second + optimizer; };
  return {seconds(makespan(s)), seconds(time_parts(s, parts).makespan)};
}

void check_step(json const& gold, systems::report& r) {
  auto const seconds = [&](char const* of) { return gold["seconds"][of].get<double>(); };
  int const p = gold["pipeline"], layers = gold["layers"], batch = gold["batch"];
  int const m = batch / (gold["devices"].get<int>() / p);  // of both directions
  r.near("tokens a day", batch * gold["tokens"].get<double>() / seconds("step") * 86400,
         gold["tokens_a_day"].get<double>(), 0.001);
  double phases = 0;
  for (char const* const phase : {"forward", "backward", "weight", "pair", "bubble", "optimizer"})
    phases += seconds(phase);
  r.near("sum of the phases", phases, seconds("step"), 0.002);

  catalog::shape const shape{.p = devices{p}, .m = micro_batches{m}};
  counted_passes const n(catalog::find("dualpipe")->make(shape));
  // A device has the phases' seconds, and its stages the mean number of layers.
  double const mean = static_cast<double>(layers) / p, share = p / mean;
  layer_seconds l{.forward = seconds("forward") * share / n.forwards,
                  .weight = seconds("weight") * share / n.weights,
                  .pair = seconds("pair") * share / n.pairs};
  l.input = (seconds("backward") * share - n.fused * l.weight) / (n.fused + n.inputs);
  std::printf("a layer in ms: forward %.2f, input %.2f, weight %.2f, pair %.2f\n", l.forward * 1e3,
              l.input * 1e3, l.weight * 1e3, l.pair * 1e3);
  r.holds("a pair is shorter than its passes", l.pair < l.forward + l.input + l.weight);
  stage_parts const four = repeated(parts_of(l, 1), 4);
  for (braiding const how : {braiding::best, braiding::in_turn, braiding::in_turn_delayed}) {
    tick const braid = braided(four.forward, four.backward, how);
    std::printf("the pair of four layers, %.2f ms\n", static_cast<double>(braid) / 1e6);
    r.near("the pair by its parts", static_cast<double>(braid) / ticks_a_second, 4 * l.pair, 0.03);
  }
  std::vector<stage_parts> stages;  // of whole layers
  for (int stage = 0; stage < p; ++stage)
    stages.push_back(repeated(parts_of(l, 1), layers * (stage + 1) / p - layers * stage / p));
  for (char const* const name : {"dualpipe", "1f1b"})
    for (braiding const how : {braiding::best, braiding::in_turn, braiding::in_turn_delayed}) {
      double const optimizer = seconds("optimizer");
      step_seconds const step = step_of(name, shape, stages, how, optimizer),
                         even = step_of(name, shape, {parts_of(l, mean)}, how, optimizer);
      std::printf(
          "%s: %.2f s, with %.4g layers on each stage %.2f s; of parts %.2f and %.2f s; published "
          "%.3f s\n",
          name, step.as_passes, mean, even.as_passes, step.of_parts, even.of_parts, seconds("step"));
      r.holds("parts on two resources take no longer",
              step.of_parts <= step.as_passes && even.of_parts <= even.as_passes);
      if (std::string_view(name) != "dualpipe" || how == braiding::in_turn_delayed) continue;
      r.near("the step", step.as_passes, seconds("step"), gold["step_within"].get<double>());
      r.holds("whole layers take longer", even.as_passes < step.as_passes);
    }
}

}  // namespace

int main(int argc, char** argv) {
  return systems::run(
      argc, argv,
      [](nlohmann::json const& gold, std::string const&, systems::report& r) { check_step(gold, r); });
}
