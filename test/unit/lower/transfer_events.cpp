#include <ashlar/lower/transfer_events.hpp>
// The header above comes first: it needs nothing before it.
#include "shapes.hpp"
#include <ashlar/catalog/vocabulary.hpp>
#include <ashlar/schedule/metrics.hpp>

#include <doctest/doctest.h>

using namespace shapes;

namespace {

TEST_CASE("in the order in which the producers end") {
  auto const e = events_in_order(one_f_one_b(2, 2));
  CHECK(e.size() == 6);
  CHECK(e[0] == event{1, {F, 0, 0}, 1, 0, 1});
  CHECK(e[1] == event{2, {F, 0, 1}, 1, 0, 1});
  CHECK(e[2] == event{4, {B, 1, 0}, 0, 1, 0});
  CHECK(e[3] == event{7, {B, 1, 1}, 0, 1, 0});
  // Reductions are of a group, of no pass, and go from no device to another.
  CHECK(e[4] == event{7, {}, -1, -1, -1, 1});
  CHECK(e[5] == event{9, {}, -1, -1, -1, 0});
}

TEST_CASE("ties have an order too") {
  // Events with one end time come in this order: gradients, activations, reductions.
  auto const e = events_in_order(catalog::zb_h1(devices{4}) | repeat(micro_batches{4}));
  auto const rank = [](event const& x) { return x.is_reduction() ? 2 : x.what.kind == F ? 1 : 0; };
  for (std::size_t i = 1; i < e.size(); ++i) {
    CHECK(e[i - 1].time <= e[i].time);
    CHECK((e[i - 1].time < e[i].time || rank(e[i - 1]) <= rank(e[i])));
  }
}

TEST_CASE("hand-overs within a device are no events") {
  schedule const s = catalog::find("v-half")->make({.p = devices{2}, .m = micro_batches{1}});
  int between = 0;
  for (event const& e : events_in_order(s)) {
    if (e.is_reduction()) continue;
    CHECK(e.source != e.target);
    ++between;
  }
  CHECK(between == 4);  // stages 1 and 2 are on one device
  CHECK(events_in_order(one_f_one_b(1, 3)).size() == 1);
}

// The first of two readers is on the later device.
TEST_CASE("each device that reads an activation gets it once") {
  block b = fork_join();
  b.where = make_placement(devices{4}, stages{4}, [](int s) { return s == 1 ? 2 : s == 2 ? 1 : s; });
  std::vector<int> targets;
  for (event const& e : events_in_order(b | repeat(micro_batches{1})))
    if (!e.is_reduction() && e.what == pass{F, 0, 0}) targets.push_back(e.target);
  CHECK(targets == std::vector<int>{2, 1});
  b.where = make_placement(devices{3}, stages{4}, [](int s) { return s == 0 ? 0 : s == 3 ? 2 : 1; });
  int both = 0;
  for (event const& e : events_in_order(b | repeat(micro_batches{1}) | squeeze()))
    both += !e.is_reduction() && e.what == pass{F, 0, 0} ? 1 : 0;
  CHECK(both == 1);
}

TEST_CASE("the gradient of a shard's input ends with its forward, where that gives it") {
  for (shard_gradient const of : {shard_gradient::of_forward, shard_gradient::of_backward}) {
    schedule const s = catalog::vocabulary_one_f_one_b(devices{3}, of) | repeat(micro_batches{4});
    int gradients = 0;
    for (event const& e : events_in_order(s)) {
      if (e.is_reduction() || e.what.stage < 3 || e.to >= 3) continue;  // 3 to 5 are shards
      pass_kind const giver = of == shard_gradient::of_forward ? F : e.what.kind;
      for (timed_pass const t : each_pass(s.order[static_cast<std::size_t>(e.source)]))
        if (t.what == pass{giver, e.what.stage, e.what.micro_batch})
          CHECK(e.time == s.end_of(t, e.source));
      ++gradients;
    }
    CHECK(gradients == 2 * 4);  // one of the shards is on the device of the last stage
  }
}

TEST_CASE("long times are ordered as short ones are") {
  for (int p = 1; p <= 8; ++p)
    for (char const* name : {"gpipe", "zb-h1", "v-half"}) {
      catalog::shape const shape{devices{p}, micro_batches{6}};
      tick const factor = 1'000'003;
      block const b = catalog::find(name)->block_of(shape);
      auto near = events_in_order(b | repeat(shape.m) | squeeze());
      auto const far = events_in_order(scale(b, factor) | repeat(shape.m) | squeeze());
      for (event& e : near) e.time *= factor;
      CHECK(near == far);
    }
}

TEST_CASE("the last event may be work of any job, and of any part") {
  for (int device : {0, 1}) {
    schedule s = one_f_one_b(2, 2);
    tick const end = makespan(s);
    s.work = work_graph({{.parts = {{device, 5}}}, {.parts = {{1 - device, 2}}}}, {});
    s.order[static_cast<std::size_t>(device)].push_back({{X, 0, 0}, end});
    s.order[static_cast<std::size_t>(1 - device)].push_back({{X, 1, 0}, end});
    pass_ends ends = no_ends(s);
    CHECK(check_passes(s, ends).ok());
    lower_detail::event_times const t = lower_detail::times_of_events(s, ends);
    CHECK((t.earliest == 0 && t.latest == end + 5));
  }
}

// Jobs 3 to 5 sum jobs 0 to 2 over both devices.
TEST_CASE("a sum waits for each part that it sums, and for no other") {
  schedule s = one_f_one_b(2, 1);
  std::vector<work_job> jobs(6);
  std::vector<work_edge> edges;
  for (int job = 0; job < 6; ++job) {
    jobs[static_cast<std::size_t>(job)].parts = {{0, 1}, {1, 1}};
    if (job < 3) continue;
    jobs[static_cast<std::size_t>(job)].does = all_reduce_job{};
    for (int d : {0, 1}) edges.push_back({{X, job - 3, d}, {X, job, d}});
  }
  s.work = work_graph(jobs, edges);
  tick const end = makespan(s);
  for (time_slot const& t : {time_slot{{X, 0, 0}, end}, {{X, 1, 0}, end + 4}, {{X, 2, 0}, end + 8}})
    s.order[0].push_back(t);
  for (time_slot const& t : {time_slot{{X, 1, 1}, end + 1}, {{X, 2, 1}, end + 2}, {{X, 0, 1}, end + 10}})
    s.order[1].push_back(t);
  std::vector<tick> times;
  for (event const& e : events_in_order(s))
    if (e.is_reduction()) times.push_back(e.time - end);
  times.erase(times.begin(), times.end() - 3);  // those of weights
  CHECK(times == std::vector<tick>{5, 9, 11});
}

// Jobs take the gradients of both micro-batches, read them, and give their sum back at tick 10.
TEST_CASE("a gradient that work gives back is complete with it") {
  schedule s = one_f_one_b(1, 2);
  s.order[0] = {{{F, 0, 0}, 0}, {{B, 0, 0}, 1}, {{X, 0, 0}, 3}, {{F, 0, 1}, 4}, {{B, 0, 1}, 5},
                {{X, 0, 1}, 7}, {{X, 1, 0}, 8}, {{X, 1, 1}, 9}, {{X, 2, 0}, 10}};
  s.work = work_graph(
      {{.parts = {{0, 1}, {0, 1}}, .does = compute_job{.gradient = take_gradient{0}}},
       {.parts = {{0, 1}, {0, 1}},
        .does = compute_job{.state = own_state{}, .gradient = read_gradient{0}}},
       {.parts = {{0, 1}}, .does = compute_job{.state = shared_state{1}, .gradient = give_gradient{0}}}},
      {});
  pass_ends ends = no_ends(s);
  CHECK(check_passes(s, ends).ok());
  CHECK(lower_detail::times_of_events(s, ends).gradient_ends[0] == 11);
}

}  // namespace
