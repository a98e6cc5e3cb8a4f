// Whatever the fields of a value hold, a check reads nothing that is not there and comes to an end. The
// sanitizers are the judges here.
#include "mutate.hpp"
#include "random.hpp"
#include "random_cases.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/check/check.hpp>
#include <ashlar/conformance/random_work.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/render/diagnosis.hpp>
#include <ashlar/schedule/repeat.hpp>
#include <ashlar/schedule/squeeze.hpp>
#include <ashlar/simulate/simulate.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

using namespace random_case;

namespace {

// A number at an end of the range, next to what stands there, or small.
template <class Int>
Int extreme(dice& d, Int old) {
  Int const least = std::numeric_limits<Int>::min(), most = std::numeric_limits<Int>::max();
  Int const near[] = {least,
                      static_cast<Int>(least + 1),
                      -2,
                      -1,
                      0,
                      1,
                      2,
                      77,
                      static_cast<Int>(most - 1),
                      most,
                      old == least ? most : static_cast<Int>(old - 1),
                      old == most ? least : static_cast<Int>(old + 1)};
  return near[d.between(0, static_cast<int>(std::size(near)) - 1)];
}

// Any byte is a value of such an enumeration; those next to its last enumerator, more often.
template <class Enum>
Enum any_of(dice& d, int last) {
  return static_cast<Enum>(d.percent(80) ? d.between(0, last + 1) : d.between(0, 255));
}

template <class List>
auto& one_of(dice& d, List& list) {
  return list[static_cast<std::size_t>(d.between(0, static_cast<int>(list.size()) - 1))];
}

// Also what another element holds in the same place, which is often a legal value.
template <class List, class Struct, class Int>
void put(dice& d, List& list, Int Struct::*field) {
  if (list.empty()) return;
  Int& changed = one_of(d, list).*field;
  changed = d.percent(40) ? one_of(d, list).*field : extreme(d, changed);
}

void change_pass(dice& d, pass& what) {
  switch (d.between(0, 2)) {
    case 0:
      what.kind = any_of<pass_kind>(d, pass_kinds - 1);
      return;
    case 1:
      what.stage = extreme(d, what.stage);
      return;
    default:
      what.micro_batch = extreme(d, what.micro_batch);
  }
}

template <class Int>
void change_list(dice& d, std::vector<Int>& list) {
  int const way = d.between(0, 9);
  if (way == 0)
    list.push_back(extreme(d, Int{0}));
  else if (!list.empty() && way == 1)
    list.pop_back();
  else if (!list.empty()) {
    Int& changed = one_of(d, list);
    changed = d.percent(30) ? one_of(d, list) : extreme(d, changed);
  }
}

void change_cost(dice& d, costs& cost) {
  switch (d.between(0, 8)) {
    case 0:
      cost.links.inside.latency = extreme(d, cost.links.inside.latency);
      return;
    case 5:
      change_list(d, cost.speeds);
      return;
    case 6:
      cost.speeds.assign(static_cast<std::size_t>(d.between(1, 4)), d.between(1, 300));
      return;
    case 7:
      cost.links.node_size = extreme(d, cost.links.node_size);
      cost.links.between = {extreme(d, tick{3}), extreme(d, tick{2})};
      return;
    case 8:
      cost.message = extreme(d, cost.message);
      cost.links.inside.bandwidth = extreme(d, cost.links.inside.bandwidth);
      return;
    case 1:
      cost.overlapped = extreme(d, cost.overlapped);
      return;
    case 2:
      cost.per_stage.resize(static_cast<std::size_t>(d.between(0, 5)));
      return;
    default:
      if (cost.per_stage.empty()) return;
      tick stage_cost::*const fields[] = {&stage_cost::forward, &stage_cost::backward_input,
                                          &stage_cost::backward_weight, &stage_cost::recompute};
      put(d, cost.per_stage, fields[d.between(0, 3)]);
  }
}

void change_memory(dice& d, memory_model& memory) {
  if (d.percent(30)) memory.stages.resize(static_cast<std::size_t>(d.between(0, 5)));
  if (memory.stages.empty()) return;
  byte_count stage_memory::*const fields[] = {
      &stage_memory::weights,    &stage_memory::optimizer_state, &stage_memory::weight_gradient,
      &stage_memory::activation, &stage_memory::gradient,        &stage_memory::checkpoint,
      &stage_memory::stash,      &stage_memory::stash_left,      &stage_memory::weight_stash};
  put(d, memory.stages, fields[d.between(0, 8)]);
}

void change_graph(dice& d, stage_graph& graph) {
  int const count = d.between(1, 2) == 1 ? graph.count() : d.between(1, 9);
  if (d.percent(50)) graph = random_graph(d, std::max(count, 1));
  if (d.percent(50)) graph = in_sequence_chunks(graph, d.percent(20) ? 2'000'000'000 : d.between(1, 4));
}

placement other_placement(dice& d, placement const& where) {
  int const stage_count = d.percent(70) ? where.stage_count() : d.between(1, 9);
  int const p = d.percent(70) ? where.device_count() : d.between(1, 5);
  std::vector<std::vector<int>> routes(static_cast<std::size_t>(d.between(1, 3)));
  for (auto& route : routes)
    for (int s = 0; s < stage_count; ++s) route.push_back(d.between(0, p - 1));
  return placement(devices{p}, routes);
}

// Another table of work, if there can be such a one.
void change_work(dice& d, work_graph& work) {
  std::vector<work_job> jobs = work.jobs();
  std::vector<work_edge> edges = work.edges();
  work_job* const job = jobs.empty() ? nullptr : &one_of(d, jobs);
  work_edge* const edge = edges.empty() ? nullptr : &one_of(d, edges);
  switch (d.between(0, 9)) {
    case 0:
      jobs.push_back({.parts = {{d.between(0, 3), 1}}, .keeps_state = d.percent(50)});
      break;
    case 1:
      jobs.clear();
      edges.clear();
      break;
    case 2:
      if (job != nullptr) put(d, job->parts, &work_part::device);
      break;
    case 3:
      if (job != nullptr) put(d, job->parts, &work_part::duration);
      break;
    case 4:
      if (job != nullptr) job->kind = any_of<job_kind>(d, 1);
      break;
    case 5:
      if (job != nullptr) job->keeps_state = !job->keeps_state;
      break;
    case 6:
      if (edge != nullptr) edges.erase(edges.begin() + (edge - edges.data()));
      break;
    case 7:
      if (edge != nullptr) change_pass(d, edge->from);
      break;
    case 8:
      if (edge != nullptr) change_pass(d, edge->to);
      break;
    default:
      edges.push_back({{any_of<pass_kind>(d, pass_kinds - 1), d.between(0, 3), d.between(0, 3)},
                       {any_of<pass_kind>(d, pass_kinds - 1), d.between(0, 3), d.between(0, 3)}});
  }
  try {
    work = work_graph(jobs, edges);
  } catch (violation const& v) {
    CHECK(!explain(v.why, schedule{}).empty());
  }
}

void change_instruction(dice& d, program& p) {
  if (p.instructions.empty()) return;
  instruction& i = one_of(d, p.instructions);
  int instruction::*const numbers[] = {&instruction::lane,          &instruction::to,
                                       &instruction::peer,          &instruction::first_operand,
                                       &instruction::operand_count, &instruction::group};
  switch (d.between(0, 10)) {
    case 0:
      i.code = any_of<opcode>(d, 9);
      return;
    case 1:
      i.overlaps_next = !i.overlaps_next;
      i.subject = any_of<slot_kind>(d, slot_kinds - 1);
      return;
    case 2:
      i.what = one_of(d, p.instructions).what;
      return;
    case 3:
    case 4:
      change_pass(d, i.what);
      return;
    default:
      put(d, p.instructions, numbers[d.between(0, 5)]);
  }
}

// Half a transfer, or a whole one, of a device to itself or to any other.
void insert_transfer(dice& d, program& p) {
  if (p.instructions.empty() || p.stream_begin.size() != static_cast<std::size_t>(p.device_count()) + 1)
    return;
  int const device = d.between(0, p.device_count() - 1), length = mutate::length(p, device);
  if (length < 1 || p.stream_begin[static_cast<std::size_t>(device)] < 0
      || p.stream_begin[static_cast<std::size_t>(device) + 1] > static_cast<int>(p.instructions.size()))
    return;
  opcode const half = d.percent(50) ? opcode::send : opcode::receive;
  instruction i{.code = half,
                .lane = p.transfer_lane(device, half),
                .what = one_of(d, p.instructions).what,
                .peer = device};
  i.to = i.what.stage + (i.what.kind == pass_kind::forward ? 1 : -1);
  int const at = d.between(0, length);
  mutate::insert(p, device, at, i);
  if (d.percent(50)) return;
  i.code = i.code == opcode::send ? opcode::receive : opcode::send;
  if (d.percent(50)) i.lane = first_transfer_lane;
  mutate::insert(p, device, at, i);
}

void change(dice& d, program& p) {
  switch (d.between(p.work.empty() ? 0 : -3, 15)) {
    case -3:
    case -2:
    case -1:
      change_work(d, p.work);
      return;
    case 0:
      change_graph(d, p.graph);
      return;
    case 1:
      p.where = other_placement(d, p.where);
      return;
    case 2:
      change_list(d, p.route);
      return;
    case 3:
      change_list(d, p.stream_begin);
      return;
    case 4:
      change_list(d, p.slot_begin);
      return;
    case 5:
      p.lanes = any_of<transfer_lanes>(d, 2);
      return;
    case 6:
      p.mode = p.mode == execution_mode::training ? execution_mode::inference : execution_mode::training;
      p.sharding = any_of<sharding_level>(d, 4);
      return;
    case 7:
      p.step = any_of<optimizer_step>(d, 2);
      p.data_ranks = extreme(d, p.data_ranks);
      return;
    case 8:
      if (!p.slots.empty()) one_of(d, p.slots) = any_of<slot_kind>(d, slot_kinds - 1);
      return;
    case 9:
      if (!p.operands.empty()) one_of(d, p.operands).how = any_of<access>(d, 3);
      return;
    case 10:
      put(d, p.operands, &operand::slot);
      return;
    case 11:
      insert_transfer(d, p);
      return;
    default:
      change_instruction(d, p);
  }
}

void look_at(dice& d, program const& p) {
  diagnosis const found = check(p);
  CHECK(!explain(found, p).empty());
  if (std::vector<site> const circle = find_wait_cycle(p); found.ok()) CHECK(circle.empty());
  diagnosis const budget = check_memory_budget(
      p, [](value_key const&) { return std::numeric_limits<std::int64_t>::max(); }, 1);
  CHECK(!explain(budget, p).empty());
  simulation_options o;
  o.memory.stages[0] = {.weights = 1,
                        .optimizer_state = 1,
                        .weight_gradient = 1,
                        .activation = 1,
                        .gradient = 1,
                        .checkpoint = 1,
                        .stash = 1,
                        .weight_stash = 1};
  if (d.percent(50)) {
    o.cost.per_stage.assign(static_cast<std::size_t>(std::max(p.stage_count(), 1)), {});
    o.memory.stages.assign(o.cost.per_stage.size(), o.memory.stages[0]);
  }
  o.mode = d.percent(50) ? transfer_mode::buffered : transfer_mode::rendezvous;
  o.issue = d.percent(50) ? issue_mode::in_stream : issue_mode::by_slots;
  o.cost.links.node_size = d.between(0, 2);
  o.cost.links.inside = o.collective = {d.between(0, 2), d.between(0, 2)};
  if (d.percent(5)) o.data_ranks = extreme(d, 1);
  if (d.percent(5)) change_cost(d, o.cost);
  if (d.percent(5)) change_memory(d, o.memory);
  try {
    simulation const s = simulate(p, o);
    CHECK(s.usage.size() == static_cast<std::size_t>(p.device_count()));
  } catch (violation const& v) {
    CHECK(!explain(v.why, p).empty());
  }
}

std::vector<program> programs() {
  std::vector<program> all;
  auto const add = [&](schedule const& s, lower_options const& o) { all.push_back(lower(s, o)); };
  for (catalog::entry const& e : catalog::entries) {
    catalog::shape shape{devices{2}, micro_batches{4}};
    if (!e.check(shape).ok()) continue;
    schedule const s = e.make(shape);
    auto const n = static_cast<int>(all.size());
    add(s, {});
    add(s, {.lanes = transfer_lanes::one_a_peer,
            .data_ranks = 2,
            .reduction = static_cast<gradient_reduction>(n % 3),
            .sharding = static_cast<sharding_level>(n / 2 % 5),
            .step = static_cast<optimizer_step>(n / 2 % 3)});
  }
  block const one = spread(catalog::find("1f1b")->block_of({devices{2}, micro_batches{2}}), 2);
  schedule const two_ways = overlay(one, mirror(one)) | repeat(micro_batches{2}) | squeeze();
  add(two_ways, {});
  add(two_ways, {.data_ranks = 2, .sharding = sharding_level::full});
  for (char const* name : {"1f1b", "zb-h1", "dualpipev"}) {
    schedule const s = catalog::find(name)->make({devices{2}, micro_batches{4}});
    for (std::uint64_t seed = 1; seed <= 4; ++seed)
      add(conformance::with_random_work(s, seed, 5),
          {.data_ranks = seed % 2 == 0 ? 2 : 1,
           .sharding = seed == 4 ? sharding_level::full : sharding_level::none});
  }
  return all;
}

TEST_CASE("a program whose fields hold anything") {
  std::vector<program> const all = programs();
  for (std::size_t n = 0; n < all.size(); ++n) {
    REQUIRE(check(all[n]).ok());
    FOR_SEEDS(static_cast<std::uint64_t>(random_cases(600))) {
      CAPTURE(n);
      CAPTURE(seed);
      program p = all[n];
      for (int changes = seed % 3 == 0 ? 2 : 1; changes > 0; --changes) change(d, p);
      look_at(d, p);
    }
  }
}

void change(dice& d, schedule& s) {
  std::vector<timed_pass>* const order = s.order.empty() ? nullptr : &one_of(d, s.order);
  switch (d.between(-2, 10)) {
    case -2:
    case -1:
      change_work(d, s.work);
      return;
    case 0:
      change_graph(d, s.graph);
      return;
    case 1:
      s.where = other_placement(d, s.where);
      return;
    case 2:
      change_list(d, s.route);
      return;
    case 3:
      change_cost(d, s.cost);
      return;
    case 4:
      s.mode = s.mode == execution_mode::training ? execution_mode::inference : execution_mode::training;
      s.order.resize(static_cast<std::size_t>(d.between(0, 5)));
      return;
    case 5:
      if (order != nullptr)
        order->push_back({{pass_kind::work, extreme(d, 0), extreme(d, 0)}, 1'000'000});
      return;
    default:
      break;
  }
  if (order == nullptr || order->empty()) return;
  timed_pass& t = one_of(d, *order);
  switch (d.between(0, 3)) {
    case 0:
      put(d, *order, &timed_pass::start);
      return;
    case 1:
      put(d, *order, &timed_pass::overlaps);
      return;
    case 2:
      t.what = one_of(d, *order).what;
      return;
    default:
      change_pass(d, t.what);
  }
}

TEST_CASE("a schedule whose fields hold anything") {
  for (catalog::entry const& e : catalog::entries) {
    catalog::shape const shape{devices{2}, micro_batches{4}};
    if (!e.check(shape).ok()) continue;
    schedule const good = e.make(shape);
    FOR_SEEDS(static_cast<std::uint64_t>(random_cases(1000))) {
      CAPTURE(e.name);
      CAPTURE(seed);
      schedule s = seed % 4 == 0 ? conformance::with_random_work(good, seed, 3) : good;
      if (d.percent(50))
        s.cost.per_stage.resize(static_cast<std::size_t>(s.stage_count()), s.cost.per_stage[0]);
      for (int changes = seed % 3 == 0 ? 2 : 1; changes > 0; --changes) change(d, s);
      CHECK(!explain(check_passes(s), s).empty());
      CHECK(!explain(check(s), s).empty());
      try {
        schedule_bound(s);
      } catch (violation const& v) {
        CHECK(!explain(v.why, s).empty());
      }
    }
  }
}

void change(dice& d, block& b) {
  switch (d.between(0, 8)) {
    case 0:
      change_graph(d, b.graph);
      return;
    case 1:
      b.where = other_placement(d, b.where);
      return;
    case 2:
      change_list(d, b.route);
      return;
    case 3:
      change_cost(d, b.cost);
      return;
    case 4:
      b.mode = b.mode == execution_mode::training ? execution_mode::inference : execution_mode::training;
      return;
    case 5:
      b.interval = extreme(d, b.interval);
      return;
    case 6:
      if (!b.cells.empty()) change_pass(d, one_of(d, b.cells).what);
      return;
    case 7:
      b.cells.push_back({{any_of<pass_kind>(d, pass_kinds - 1), extreme(d, 0), extreme(d, 0)}, 0});
      return;
    default:
      put(d, b.cells, &cell::offset);
  }
}

TEST_CASE("a block whose fields hold anything") {
  for (catalog::entry const& e : catalog::entries) {
    catalog::shape const shape{devices{2}, micro_batches{4}};
    if (!e.check(shape).ok() || e.block_of == nullptr) continue;
    block const good = e.block_of(shape);
    FOR_SEEDS(static_cast<std::uint64_t>(random_cases(1000))) {
      CAPTURE(e.name);
      CAPTURE(seed);
      block b = good;
      for (int changes = seed % 3 == 0 ? 2 : 1; changes > 0; --changes) change(d, b);
      CHECK(!explain(check(b), b).empty());
    }
  }
}

void change(dice& d, workload& w) {
  switch (d.between(0, 6)) {
    case 0:
      w.where = other_placement(d, w.where);
      return;
    case 1: {
      int const m = extreme(d, w.micro_batch_count);
      w.micro_batch_count = m < 1000 ? m : std::numeric_limits<int>::max();
      return;
    }
    case 2:
      change_cost(d, w.cost);
      return;
    case 3:
      change_list(d, w.limit.budget);
      return;
    case 4:
      change_memory(d, w.limit.memory);
      return;
    case 5:
      w.sequence_chunks = extreme(d, w.sequence_chunks);
      return;
    default:
      w.mode = d.percent(50) ? execution_mode::training : execution_mode::inference;
      w.splits_backward = d.percent(50);
  }
}

TEST_CASE("a workload whose fields hold anything") {
  FOR_SEEDS(static_cast<std::uint64_t>(random_cases(4000))) {
    CAPTURE(seed);
    workload w{.where = random_placement(d, devices{d.between(1, 3)}, stages{d.between(1, 5)}),
               .micro_batch_count = d.between(1, 4)};
    for (int changes = d.between(1, 3); changes > 0; --changes) change(d, w);
    diagnosis const found = check(w);
    CHECK(!explain(found).empty());
    if (!found.ok()) continue;
    CHECK(workload_bound(w).makespan >= busiest_work(w));
  }
}

}  // namespace
