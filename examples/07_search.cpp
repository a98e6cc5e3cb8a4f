// Which schedule suits these devices? Four of them, one of which is slower, with less memory than 1F1B
// needs: a search over layouts, over what to recompute and over how to cut sequences.
//
// Ticks are 10 microseconds. Published schedules are formulas for alike devices and passes; a search
// takes what was measured, and says how far from the best possible it may be at most.
#include <ashlar/ashlar.hpp>
#include <ashlar/optimize/improve.hpp>
#include <ashlar/render/diagnosis.hpp>
#include <ashlar/search.hpp>

#include <cstdint>
#include <cstdio>
#include <vector>

using namespace ashlar;

namespace {

constexpr devices p{4};
constexpr std::int64_t MiB = 1 << 20;

// The cost of one of p equal parts of the model: time, memory of one micro-batch, and memory held all
// the time. The third device runs at 80 %.
model_share measured() {
  model_share model{.p = p, .m = micro_batches{16}, .cost = costs({200, 260, 140}, 10)};
  model.cost.on.speeds = {100, 100, 80, 100};
  return model;
}
constexpr std::int64_t activations = 4096 * MiB, weights_and_optimizer = 9216 * MiB;

// A part in `chunk_count` chunks on devices with 20 GiB each.
layout_choice on_cluster(placement_kind shape, int chunk_count) {
  layout_choice c = choose_layout(measured(), shape, chunk_count, 100);
  stage_memory const stage{.weights = weights_and_optimizer / chunk_count,
                           .stash = activations / chunk_count};
  c.problem.limit = {.memory = {.stages = {stage}}, .budget = {20480 * MiB}};
  return c;
}

double milliseconds(double ticks) { return ticks / 100; }

void search_all(char const* what, variety const& how) {
  std::vector<layout_choice> choices;
  for (layout_choice const& plain :
       {on_cluster(placement_kind::linear, 1), on_cluster(placement_kind::v, 2),
        on_cluster(placement_kind::looped, 2)})
    for (layout_choice const& c : variants_of(plain, how))
      if (check(c.problem).ok()) choices.push_back(c);
  std::vector<searched_layout> const all =
      search_layouts(choices, {.passes = 600'000, .aim = objective::span});
  proved_layouts const proved = proved_of(all);
  searched_layout const& best = all[proved.best];
  std::printf("%-18s %9.2f %13.2f %7d %11zu %13d\n", what,
              milliseconds(best.in_ticks(best.result.reached)),
              milliseconds(best.in_ticks(proved.least)), best.choice.chunk_count,
              recomputed_stages(best.choice.problem).size(), best.choice.sequence_chunks);
  // A search returns a schedule like any other.
  if (check(best.result.best).ok() && check(lower(best.result.best)).ok()) return;
  std::puts("which is wrong");
}

}  // namespace

int main() {
  search_problem const two_chunks = on_cluster(placement_kind::v, 2).problem;
  std::printf("published V-shaped schedules that fit:");
  for (published_schedule const& known : published_on(two_chunks.where, two_chunks.m, two_chunks.cost))
    if (is_within(known.made, two_chunks.limit))
      std::printf(" %s (%.2f ms)", known.entry->name,
                  milliseconds(static_cast<double>(span(known.made)) / 2));
  std::puts("\n\n                   ms a step  no less than  chunks  recomputed  sequences in");
  search_all("as it is", {});
  search_all("may recompute", {.kept_percent = {6}});
  search_all("and cut sequences", {.kept_percent = {6}, .most_sequence_chunks = 4});

  // The problem differs if there is less memory than one micro-batch takes.
  search_problem too_little = two_chunks;
  too_little.limit.budget = {weights_and_optimizer + 3000 * MiB};
  std::printf("\nwith 3000 MiB beside the weights: %s\n", explain(check(too_little)).c_str());
}
