#include <ashlar/simulate/simulate.hpp>
// The header above comes first: it needs nothing before it.
#include "mutate.hpp"
#include "options_of.hpp"
#include "shapes.hpp"
#include "violations.hpp"
#include <ashlar/lower/lower.hpp>

using namespace shapes;
using namespace mutate;

namespace {

TEST_CASE("first values say that nothing takes time or memory") {
  CHECK(timed_instruction{} == timed_instruction{0, 0, 0, -1});
  CHECK(timeline{} == timeline{{}, 0});
  CHECK(device_usage{} == device_usage{0, 0, 0, 0, 0});
  CHECK(path_step{} == path_step{0, 0, 0});
  CHECK(memory_sample{} == memory_sample{0, 0});
  CHECK(device_memory{} == device_memory{0, 0, 0, 0, -1, {}, 0, 0});
}

TEST_CASE("what cannot be simulated is refused") {
  schedule const s = one_f_one_b(2, 2);
  program const good = lower(s);
  simulation_options const o = options_of(s);
  auto const with = [&](auto change) {
    simulation_options changed = o;
    change(changed);
    return [&good, changed] { simulate(good, changed); };
  };
  CHECK_BREAKS(sizes_fit, with([](auto& x) { x.memory.stages[0].stash = -1; })());
  CHECK_BREAKS(sizes_fit, with([](auto& x) { x.memory.stages[0].stash = max_tick; })());
  CHECK_BREAKS(sizes_fit, with([](auto& x) { x.memory.stages[0].stash = max_tick - 1; })());
  CHECK_BREAKS(tables_agree, with([](auto& x) { x.memory.stages.resize(3); })());
  CHECK_BREAKS(counts_are_positive, with([](auto& x) { x.data_ranks = 0; })());
  CHECK_BREAKS(no_duration_is_negative, with([](auto& x) { x.optimizer = -1; })());
  CHECK_BREAKS(no_duration_is_negative, with([](auto& x) { x.optimizer = max_tick; })());
  CHECK_BREAKS(counts_are_positive, with([](auto& x) { x.cost.on.links.node_size = -1; })());
  CHECK_BREAKS(no_duration_is_negative, with([](auto& x) { x.cost.on.links.inside.latency = -1; })());
  CHECK_BREAKS(no_duration_is_negative, with([](auto& x) { x.cost.on.collective.bandwidth = -1; })());
  CHECK_BREAKS(no_duration_is_negative, with([](auto& x) { x.cost.on.collective.latency = -1; })());
  CHECK_BREAKS(ticks_fit, with([](auto& x) { x.cost.on.links.inside.latency = INT64_MAX; })());
  CHECK_BREAKS(no_duration_is_negative, with([](auto& x) { x.cost.passes.at(0).forward = -1; })());

  auto const changed = [&](int device, opcode code, pass what, auto change) {
    program p = good;
    change(p.instructions[static_cast<std::size_t>(p.stream_begin[static_cast<std::size_t>(device)]
                                                   + find(p, device, code, what))]);
    return p;
  };
  pass const f{F, 0, 0};
  CHECK_BREAKS(every_pass_is_known,
               simulate(changed(0, opcode::compute, f, [](auto& i) { i.what.stage = 9; }), o));
  CHECK_BREAKS(every_pass_is_known,
               simulate(changed(0, opcode::send, f, [](auto& i) { i.peer = 7; }), o));
  CHECK_BREAKS(every_send_has_its_receive,
               simulate(changed(0, opcode::send, f, [](auto& i) { i.peer = 0; }), o));
  program to_itself = good;  // on lanes of its own even a whole transfer
  instruction half{.code = opcode::send, .lane = 1, .what = f, .to = 1, .peer = 0};
  drop(to_itself, 1, find(to_itself, 1, opcode::receive, f));
  at(to_itself, 0, find(to_itself, 0, opcode::send, f)) = half;
  half.code = opcode::receive;
  half.lane = 2;
  insert(to_itself, 0, 0, half);
  CHECK_BREAKS(transfers_lead_to_another_device, simulate(to_itself, o));
  CHECK_BREAKS(no_transfer_is_doubled,
               simulate(changed(0, opcode::send, f, [](auto& i) { i.what.micro_batch = 1; }), o));
  CHECK_BREAKS(tables_agree, simulate(changed(0, opcode::send, f, [](auto& i) { i.lane = 99; }), o));
}

}  // namespace
