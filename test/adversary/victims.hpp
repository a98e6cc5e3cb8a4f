// Small programs of all kinds, to make mistakes with.
#pragma once

#include <ashlar/catalog.hpp>
#include <ashlar/catalog/graphs.hpp>
#include <ashlar/conformance/programs.hpp>
#include <ashlar/conformance/random_schedule.hpp>
#include <ashlar/conformance/random_work.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/values/clip.hpp>

#include <string>
#include <utility>
#include <vector>

namespace adversary {

using namespace ashlar;

inline schedule small_schedule(char const* name, int p, int m) {
  return catalog::find(name)->make({devices{p}, micro_batches{m}});
}

// The programs are chains, stages that fork and join and take micro-batches of different sizes, both
// directions, recomputation, work of all kinds, and ranks that share all they can.
inline std::vector<conformance::sample_program> victims() {
  std::vector<conformance::sample_program> all;
  auto const add = [&](std::string name, schedule const& s, lower_options const& o = {}) {
    all.push_back({std::move(name), lower(s, o)});
  };
  for (char const* name : {"1f1b", "zb-h1", "v-half", "seq1f1b"}) add(name, small_schedule(name, 3, 5));
  add("recomputed", small_schedule("1f1b-recompute", 3, 4));
  add("recomputed chunks",
      recompute(catalog::seq1f1b(devices{2}, 2)) | repeat(micro_batches{4}) | squeeze());
  for (char const* name : {"chimera", "dualpipe", "gems"})
    add(name, small_schedule(name, 2, 4), {.lanes = transfer_lanes::one_a_peer});
  add("dualpipev", small_schedule("dualpipev", 2, 4));
  stage_graph const graph(stages{4}, {{0, 1}, {0, 2}, {1, 3}, {2, 3}});
  add("fork and join", catalog::one_f_one_b(graph, linear(devices{4}), micro_batches{3}),
      {.lanes = transfer_lanes::one_a_direction});
  add("micro-batches of two sizes",
      catalog::one_f_one_b(in_micro_batches(graph, {1, 2, 1, 1}), linear(devices{4}), micro_batches{4}));
  add("random graph", conformance::random_graph_schedule(3));
  schedule const v = small_schedule("v-half", 2, 3);
  int const last = v.stage_count() - 1;
  add("parameters in common", v, {.shared_parameters = {{0, last}}});
  add("work", conformance::with_random_work(v, 2, 6, false));
  add("clipped micro-batches", clip_micro_batches(v));
  add("inference", small_schedule("inference", 3, 4));
  for (sharding_level level : {sharding_level::none, sharding_level::optimizer,
                               sharding_level::gradients, sharding_level::weights, sharding_level::full})
    add("sharded " + std::to_string(static_cast<int>(level)), v,
        {.data_ranks = 2, .sharding = level, .step = optimizer_step::at_end});
  add("three ranks", small_schedule("1f1b", 2, 3),
      {.data_ranks = 3, .sharding = sharding_level::full, .step = optimizer_step::after_norm});
  add("sharded replicas", small_schedule("chimera", 2, 4),
      {.data_ranks = 2, .sharding = sharding_level::full, .step = optimizer_step::after_norm});
  add("sharded, with a norm and parameters in common", v,
      {.data_ranks = 2,
       .sharding = sharding_level::full,
       .step = optimizer_step::after_norm,
       .shared_parameters = {{0, last}}});
  add("work and a norm", conformance::with_random_work(v, 2, 4, false),
      {.data_ranks = 2, .step = optimizer_step::after_norm});
  return all;
}

}  // namespace adversary
