// Small programs of every sort: the catalog's, two routes, stage graphs that are no chains, recompute,
// uneven costs; each with both sorts of transfer lanes.
#pragma once

#include "catalog_cases.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/conformance/programs.hpp>
#include <ashlar/conformance/random_schedule.hpp>
#include <ashlar/conformance/random_work.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/values/clip.hpp>

#include <array>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace oracle {

struct sample {
  std::string name;
  ashlar::program made;
};

class samples {
 public:
  // Makes samples of all shapes up to p devices and m micro-batches.
  samples(int p, int m) {
    using namespace ashlar;
    for (int d = 1; d <= p; ++d)
      for (int k = 1; k <= m; ++k) {
        add_shape(d, k);
        if (k % 2 == 0 && d > 1) add_two_routes(d, k);
        if (d > 1) add_graphs(d, k);
      }
  }

  std::vector<sample> take() && { return std::move(made_); }

 private:
  void add(std::string const& name, int p, int m, ashlar::schedule const& s) {
    for (auto lanes : {ashlar::transfer_lanes::one, ashlar::transfer_lanes::one_a_peer,
                       ashlar::transfer_lanes::one_a_direction})
      made_.push_back({name + " p=" + std::to_string(p) + " m=" + std::to_string(m) + " lanes "
                           + std::to_string(static_cast<int>(lanes)),
                       lower(s, {.lanes = lanes})});
  }

  void add_shape(int p, int m) {
    using namespace ashlar;
    for (catalog_case const& c : catalog_cases({p}, {m})) {
      std::string const name = c.entry->name;
      add(name, p, m, c.schedule());
      if (!c.has_block()) continue;
      block const b = c.block();
      if (m % b.micro_batch_count() != 0) continue;
      add(name + ", slow transfers", p, m,
          b | repeat(c.shape.m) | retime(costs({.forward = 2, .backward_input = 3}, 2)));
      if (c.is("1f1b-recompute") || b.mode == execution_mode::inference) continue;
      add(name + ", recompute", p, m, recompute(b) | repeat(c.shape.m) | squeeze());
    }
  }

  // Half the micro-batches go the other way.
  void add_two_routes(int p, int m) {
    using namespace ashlar;
    for (char const* name : {"1f1b", "zb-h1", "v-half"}) {
      block const one = spread(catalog::find(name)->block_of({devices{p}, micro_batches{m}}), 2);
      add(name + std::string(", two ways"), p, m,
          overlay(one, mirror(one)) | repeat(micro_batches{m}) | squeeze());
    }
  }

  // Adds a skipping edge; a fork that joins again, on fewer devices than stages; two heads and two
  // tails.
  void add_graphs(int p, int m) {
    using namespace ashlar;
    struct graph {
      char const* name;
      stage_graph edges;
    };
    std::array const graphs{
        graph{"skip", stage_graph(stages{3}, {{0, 1}, {0, 2}, {1, 2}})},
        graph{"fork", stage_graph(stages{4}, {{0, 1}, {0, 2}, {1, 3}, {2, 3}})},
        graph{"two heads", stage_graph(stages{4}, {{0, 2}, {1, 2}, {0, 3}, {1, 3}})},
    };
    for (graph const& g : graphs) {
      int const count = g.edges.count();
      placement const where =
          make_placement(devices{p}, stages{count}, [=](int s) { return s * p / count; });
      block const b = make_block(where, {}, 3 * count, {pass_kind::forward, pass_kind::backward},
                                 [=](pass_kind kind, int s) {
                                   return tick{kind == pass_kind::forward ? s : 3 * count - 2 * s - 2};
                                 })
                      | with_graph(g.edges);
      add(g.name, p, m, b | repeat(micro_batches{m}) | squeeze());
      add(g.name + std::string(", split"), p, m,
          split_backward(b) | repeat(micro_batches{m}) | squeeze());
    }
  }

  std::vector<sample> made_;
};

// Programs whose data-parallel ranks share weights and gradients in every way: schedules of one chunk a
// device and of several, split and recomputed backwards, replicas, overlapped pairs; every level, time
// of reduction and optimizer step, one buffer and two.
inline std::vector<sample> shared() {
  using namespace ashlar;
  std::vector<std::pair<std::string, schedule>> schedules;
  auto const add = [&](char const* name, int p, int m) {
    schedules.push_back({name, catalog::find(name)->make({devices{p}, micro_batches{m}})});
  };
  add("1f1b", 2, 3);
  add("zb-h1", 2, 1);
  add("v-half", 2, 2);
  add("dualpipev", 1, 2);
  add("depth-first-accumulation", 1, 2);
  add("breadth-first-accumulation", 1, 2);
  add("inference", 2, 2);
  schedules.push_back(
      {"recompute", recompute(catalog::one_f_one_b(devices{2})) | repeat(micro_batches{1}) | squeeze()});
  block const one = spread(catalog::one_f_one_b(devices{2}), 2);
  schedules.push_back({"two ways", overlay(one, mirror(one)) | repeat(micro_batches{2}) | squeeze()});
  std::vector<sample> all;
  for (auto const& [name, s] : schedules)
    for (auto level : {sharding_level::none, sharding_level::optimizer, sharding_level::gradients,
                       sharding_level::weights, sharding_level::full})
      for (auto when : {gradient_reduction::at_end, gradient_reduction::eager,
                        gradient_reduction::eager_middle_last})
        for (auto step : {optimizer_step::none, optimizer_step::at_end, optimizer_step::after_norm}) {
          int const buffers = 1 + static_cast<int>(step) % 2;
          all.push_back({name + ", level " + std::to_string(static_cast<int>(level)) + ", reduced "
                             + std::to_string(static_cast<int>(when)) + ", step "
                             + std::to_string(static_cast<int>(step)),
                         lower(s, {.data_ranks = 2,
                                   .reduction = when,
                                   .sharding = level,
                                   .weight_buffers = buffers,
                                   .prefetch = static_cast<int>(when),
                                   .step = step})});
        }
  return all;
}

// Parameters that two stages have in common: on two devices, on one, with replicas; sharded and not.
inline std::vector<sample> tied() {
  using namespace ashlar;
  std::vector<std::pair<std::string, schedule>> schedules;
  for (char const* name : {"1f1b", "zb-h1", "v-half"})
    schedules.push_back({name, catalog::find(name)->make({devices{2}, micro_batches{2}})});
  block const one = spread(catalog::one_f_one_b(devices{2}), 2);
  schedules.push_back({"two ways", overlay(one, mirror(one)) | repeat(micro_batches{2}) | squeeze()});
  std::vector<sample> all;
  for (auto const& [name, s] : schedules)
    for (auto level : {sharding_level::none, sharding_level::full})
      for (auto step : {optimizer_step::none, optimizer_step::after_norm})
        all.push_back({name + ", tied, level " + std::to_string(static_cast<int>(level)),
                       lower(s, {.data_ranks = level == sharding_level::none ? 1 : 2,
                                 .sharding = level,
                                 .step = step,
                                 .shared_parameters = {{0, s.stage_count() - 1}}})});
  return all;
}

// Values that some or all forwards keep go to the host: stashes and checkpoints, split backwards,
// several stages a device, both ways, pairs, shards, and at random; with copies that take no time, or
// more than there is.
inline std::vector<sample> offloaded() {
  using namespace ashlar;
  std::vector<std::pair<std::string, schedule>> schedules;
  for (auto [name, p, m] : {std::tuple{"1f1b", 1, 2},
                            {"1f1b", 2, 2},
                            {"1f1b", 2, 3},
                            {"gpipe", 2, 2},
                            {"zb-h1", 2, 2},
                            {"v-half", 1, 2},
                            {"v-half", 2, 2},
                            {"1f1b-recompute", 2, 2},
                            {"dualpipev", 1, 2}})
    schedules.push_back({name + (" p=" + std::to_string(p)) + " m=" + std::to_string(m),
                         catalog::find(name)->make({devices{p}, micro_batches{m}})});
  block const one = spread(catalog::one_f_one_b(devices{2}), 2);
  schedules.push_back({"two ways", overlay(one, mirror(one)) | repeat(micro_batches{2}) | squeeze()});
  schedules.push_back(
      {"seq1f1b", catalog::seq1f1b(devices{2}, 2) | repeat(micro_batches{2}) | squeeze()});
  for (std::uint64_t seed = 1; schedules.size() < 17; ++seed) {
    schedule const s = conformance::random_schedule(seed, 1 + static_cast<int>(seed % 2));
    if (s.mode == execution_mode::training && s.stage_count() * s.micro_batch_count() <= 8)
      schedules.push_back({"random " + std::to_string(seed), s});
  }
  std::vector<sample> all;
  for (auto const& [name, s] : schedules)
    for (int every : {1, 2})
      for (tick copy : {0, 1, 5}) {
        offload_options offload{.forwards = {}, .copy = {copy}};
        int number = 0;
        for (auto const& order : s.order)
          for (timed_pass const t : each_pass(order))
            if (t.what.kind == pass_kind::forward && number++ % every == 0)
              offload.forwards.push_back(t.what);
        bool const shares = copy == 5;
        all.push_back(
            {name + ", every " + std::to_string(every) + " for " + std::to_string(copy),
             lower(s, {.lanes = copy == 0 ? transfer_lanes::one : transfer_lanes::one_a_peer,
                       .data_ranks = shares ? 2 : 1,
                       .sharding = shares ? sharding_level::full : sharding_level::none,
                       .transfers = every == 1 ? transfer_order::finish_time : transfer_order::asap,
                       .offload = offload})});
      }
  return all;
}

// Work at random places: read of passes and by passes, with state, summed over devices and ranks.
inline std::vector<sample> worked() {
  using namespace ashlar;
  std::vector<sample> all;
  std::uint64_t seed = 0;
  for (char const* name : {"1f1b", "zb-h1", "v-half", "dualpipev", "1f1b-recompute", "inference"})
    for (int turn = 0; turn < 6; ++turn) {
      catalog::shape const shape{devices{turn < 4 ? 2 : 1}, micro_batches{2}};
      if (!catalog::find(name)->check(shape).ok()) continue;
      schedule const s = catalog::find(name)->make(shape);
      bool const ranks = turn % 3 == 2;
      all.push_back({name + std::string(", work ") + std::to_string(turn),
                     lower(conformance::with_random_work(s, ++seed, 3),
                           {.lanes = turn % 2 == 0 ? transfer_lanes::one : transfer_lanes::one_a_peer,
                            .data_ranks = ranks ? 2 : 1,
                            .sharding = ranks ? sharding_level::full : sharding_level::none})});
    }
  return all;
}

// A schedule whose gradients are all taken before the first is read, so that the parts that read them,
// which need nothing else, have places to choose from. Each stage is on a device of its own.
inline ashlar::schedule with_late_readers(ashlar::schedule s) {
  using namespace ashlar;
  int const m = s.micro_batch_count();
  std::vector<work_job> jobs;
  for (int d = 0; d < s.device_count(); ++d) {
    int const first = static_cast<int>(jobs.size());
    auto const parts = [d](int count) {
      return std::vector<work_part>(static_cast<std::size_t>(count), {d, 1});
    };
    jobs.push_back({.parts = parts(m), .does = compute_job{.gradient = take_gradient{d}}});
    jobs.push_back({.parts = parts(m),
                    .does = compute_job{.state = own_state{.is_cleared = d % 2 == 0},
                                        .gradient = read_gradient{d}}});
    jobs.push_back(
        {.parts = parts(1),
         .does = compute_job{.state = shared_state{first + 1}, .gradient = give_gradient{d}}});
    auto const add = [](std::vector<time_slot>& to, int job, int k) {
      to.push_back({{pass_kind::work, job, k}, 0});
    };
    std::vector<time_slot> order;
    for (time_slot const& t : s.order[static_cast<std::size_t>(d)]) {
      order.push_back(t);
      pass const adds = t.is_pair() ? t.beside : t.what;
      if (gives_weight_gradient(adds.kind)) add(order, first, adds.micro_batch);
    }
    for (int k = 0; k < m; ++k) add(order, first + 1, k);
    add(order, first + 2, 0);
    s.order[static_cast<std::size_t>(d)] = order;
  }
  s.work = work_graph(jobs, {});
  return squeeze(std::move(s));
}

// Gradients that are taken one micro-batch at a time, clipped and given back: a stage a device, several,
// on one device and beside other work; one rank and two; every optimizer step.
inline std::vector<sample> clipped() {
  using namespace ashlar;
  std::vector<std::pair<std::string, schedule>> schedules;
  for (auto [name, p, m] : {std::tuple{"1f1b", 1, 2},
                            {"1f1b", 2, 2},
                            {"1f1b", 2, 3},
                            {"zb-h1", 2, 2},
                            {"v-half", 1, 2},
                            {"v-half", 2, 2},
                            {"1f1b-recompute", 2, 2}})
    schedules.push_back({name + (" p=" + std::to_string(p)) + " m=" + std::to_string(m),
                         catalog::find(name)->make({devices{p}, micro_batches{m}})});
  std::vector<sample> all;
  for (auto const& [name, s] : schedules)
    for (auto step : {optimizer_step::none, optimizer_step::at_end, optimizer_step::after_norm}) {
      bool const other = step == optimizer_step::at_end;
      all.push_back({name + ", clipped, step " + std::to_string(static_cast<int>(step)),
                     lower(clip_micro_batches(other ? conformance::with_random_work(s, 1, 1) : s),
                           {.lanes = other ? transfer_lanes::one_a_peer : transfer_lanes::one,
                            .data_ranks = other ? 1 : 2,
                            .step = step})});
    }
  for (char const* name : {"1f1b", "zb-h1"})
    for (int p : {1, 2})
      all.push_back(
          {name + (", read late, p=" + std::to_string(p)),
           lower(with_late_readers(catalog::find(name)->make({devices{p}, micro_batches{2}})))});
  return all;
}

// Sequences in chunks: as published, recomputed, split, both ways, forward only, sharded, and at random.
inline std::vector<sample> chunked() {
  using namespace ashlar;
  std::vector<sample> all;
  auto const add = [&](std::string const& name, schedule const& s, lower_options options = {}) {
    for (auto lanes : {transfer_lanes::one, transfer_lanes::one_a_peer}) {
      options.lanes = lanes;
      all.push_back({name + ", in " + std::to_string(s.graph.sequence_chunks()), lower(s, options)});
    }
  };
  for (auto [p, q, m] : {std::array{1, 2, 4}, {1, 3, 3}, {2, 2, 2}, {2, 2, 4}, {2, 3, 3}}) {
    block const one = catalog::seq1f1b(devices{p}, q);
    micro_batches const count{m};
    add("seq1f1b", one | repeat(count) | squeeze());
    add("seq1f1b, split", split_backward(one) | repeat(count) | squeeze());
    add("seq1f1b, recompute", recompute(one) | repeat(count) | squeeze());
    add("seq1f1b, sharded", one | repeat(count) | squeeze(),
        {.data_ranks = 2, .sharding = sharding_level::full, .step = optimizer_step::after_norm});
    add("inference", catalog::find("inference")->block_of({devices{p}, count})
                         | with_graph(in_sequence_chunks(chain(stages{p}), q)) | repeat(count)
                         | squeeze());
  }
  block const one = spread(catalog::seq1f1b(devices{2}, 2), 2);
  add("seq1f1b, two ways", overlay(one, mirror(one)) | repeat(micro_batches{4}) | squeeze());
  for (std::uint64_t seed = 1; all.size() < 120; ++seed) {
    schedule const s = conformance::random_schedule(seed, 2 + static_cast<int>(seed % 2));
    if (s.stage_count() * s.micro_batch_count() > 12) continue;
    add("random " + std::to_string(seed), s);
    add("random " + std::to_string(seed) + ", work", conformance::with_random_work(s, seed, 2));
  }
  return all;
}

// Stages that fork and join anywhere, many of them with micro-batches of different sizes.
inline std::vector<sample> of_graphs() {
  using namespace ashlar;
  std::vector<sample> all;
  for (std::uint64_t seed = 1; all.size() < 60; ++seed) {
    schedule const s = conformance::random_graph_schedule(seed);
    if (s.stage_count() * s.micro_batch_count() > 12) continue;
    all.push_back({"random graph " + std::to_string(seed), lower(s)});
    if (seed % 3 == 0)
      all.push_back({"random graph " + std::to_string(seed) + ", work",
                     lower(conformance::with_random_work(s, seed, 2))});
  }
  return all;
}

// DualPipe, its fold and STP, with a lane for all peers and with one a peer.
inline std::vector<sample> pairs() {
  using namespace ashlar;
  std::vector<sample> all;
  for (char const* name : {"dualpipe", "dualpipev", "stp"})
    for (int p : {1, 2})
      for (auto lanes : {transfer_lanes::one, transfer_lanes::one_a_peer})
        if (catalog::shape const shape{devices{p}, micro_batches{2 * p}};
            catalog::find(name)->check(shape).ok())
          all.push_back({name + std::string(" p=") + std::to_string(p),
                         lower(catalog::find(name)->make(shape), {.lanes = lanes})});
  return all;
}

}  // namespace oracle
