#include <ashlar/run/drive.hpp>
// First, so that it needs nothing before it.
#include "../../mutate.hpp"
#include "../../shapes.hpp"
#include "../../violations.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/program/names.hpp>
#include <ashlar/run/host_memory.hpp>
#include <ashlar/run/poll.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

using namespace shapes;

namespace {

// Notes what is put on its queues; events happen when the test says so.
struct written {
  static constexpr progress_level needs = progress_level::independent_lanes;
  struct queue {
    int lane = 0;
  };
  struct event {
    bool recorded = false, happened = false;
  };
  explicit written(device_plan const& plan)
      : queues(static_cast<std::size_t>(plan.lane_count())),
        events(static_cast<std::size_t>(plan.events().count())) {}

  queue& queue_of(int lane) { return queues[static_cast<std::size_t>(lane)]; }
  event& event_of(int n) { return events[static_cast<std::size_t>(n)]; }
  void record(queue&, event& e) {
    e.recorded = true;
    e.happened = at_once;
  }
  void wait(queue&, event& e) { CHECK(e.recorded); }
  bool query(event& e) const {
    CHECK(e.recorded);
    return e.happened;
  }
  void send(queue&, transfer_call const& t) {
    text += "send" + std::to_string(t.what.what.micro_batch) + ' ';
  }
  void receive(queue&, transfer_call const& t) {
    text += "receive" + std::to_string(t.what.what.micro_batch) + ' ';
  }
  void clear(queue&, buffer) { text += "clear "; }

  std::vector<queue> queues;
  std::vector<event> events;
  std::string text;
  bool at_once = false;
};
static_assert(device_backend<written> && !collective_backend<written>);
// What it needs has to be said.
struct silent : written {
  int needs = 0;
};
static_assert(!device_backend<silent>);

// No more than 1F1B asks for.
struct plain {
  written* device;
  value_layout layout(value_key) const { return {64, 64, element_type::f64}; }
  void forward(written::queue&, frame const& f) {
    device->text += 'F' + std::to_string(f.what.micro_batch) + ' ';
  }
  void backward(written::queue&, frame const& f) {
    device->text += 'B' + std::to_string(f.what.micro_batch) + ' ';
  }
};

int count_of_word(std::string const& text, std::string const& word) {
  int count = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

struct setup {
  setup(program const& p, int d, wait_detail detail = wait_detail::last_of_a_lane)
      : slots(slot_layout(p.view(), 0, d, [](value_key) { return value_layout{64}; })),
        memory(slots.total, slots.alignment),
        plan(p.view(), 0, d, plain{}, slots, memory.data(), detail),
        device(plan),
        worker{&device} {}
  slot_table slots;
  aligned_memory memory;
  device_plan plan;
  written device;
  plain worker;
};

// What a plain worker and a device of that class can do.
template <class Device>
void check_plain(program_view const& p) {
  plain nobody{nullptr};
  check_able<Device>(p, nobody);
}

TEST_CASE("verbs that a program does not use are not asked for; those that it uses are") {
  check_plain<written>((one_f_one_b(2, 2) | lower()).view());
  auto const refused = [](program const& p, char const* who, char const* what) {
    try {
      check_plain<written>(p.view());
      FAIL("nothing was thrown");
    } catch (std::invalid_argument const& e) {
      CHECK(std::string(e.what()).find(who) == 0);
      CHECK(std::string(e.what()).find(what) != std::string::npos);
    }
  };
  catalog::shape const shape{devices{2}, micro_batches{2}};
  refused(lower(catalog::find("zb-h1")->make(shape)), "the worker cannot", "0I0");
  refused(lower(catalog::find("1f1b-recompute")->make(shape)), "the worker cannot", "0R0");
  refused(lower(one_f_one_b(2, 2), {.step = optimizer_step::at_end}), "the worker cannot", "optimize");
  refused(lower(one_f_one_b(2, 2), {.data_ranks = 2}), "the device cannot", "reduce");
}

// Blocks at each instruction of its stream.
struct blocking : written {
  static constexpr progress_level needs = progress_level::one_order_per_device;
  void all_reduce(queue&, collective_call const&) {}
  void all_gather(queue&, collective_call const&) {}
  void reduce_scatter(queue&, collective_call const&) {}
};
// One thread issues for all.
struct issued_for_all : blocking {
  static constexpr progress_level needs = progress_level::one_order;
};

TEST_CASE("a device is given programs that are proved for what it needs") {
  program const good = two_ways(2) | repeat(micro_batches{2}) | squeeze() | lower();
  check_plain<blocking>(good.view());
  check_plain<issued_for_all>(good.view());
  // Device 0 reduces before it sends what device 1 receives before it reduces.
  program p = good;
  int send = -1;
  for (int i = 0; i < mutate::length(p, 0); ++i)
    if (mutate::at(p, 0, i).code == opcode::send) send = i;
  mutate::move(p, 0, send, send + 1);
  check_plain<issued_for_all>(p.view());
  try {
    check_plain<blocking>(p.view());
    FAIL("nothing was thrown");
  } catch (violation const& v) {
    CHECK(v.why.broken == rule::streams_do_not_block_each_other);
    CHECK(v.why.first.device >= 0);
    CHECK(v.why.second.device >= 0);
    CHECK(v.why == check_progress(p.view(), progress_level::one_order_per_device));
  }
  // Nor is one that no lanes bring to its end.
  p = one_f_one_b(2, 2) | lower();
  mutate::move(p, 1, mutate::find(p, 1, opcode::receive, {F, 0, 1}),
               mutate::find(p, 1, opcode::send, {B, 1, 0}));
  CHECK_BREAKS(streams_do_not_block_each_other, check_plain<blocking>(p.view()));
  CHECK_BREAKS(no_cycle_of_waits, check_plain<issued_for_all>(p.view()));
}

TEST_CASE("a stream is issued in its order, after what was recorded") {
  setup s(one_f_one_b(2, 2) | lower(), 0);
  issue_stream(s.plan, s.worker, s.device);
  CHECK(s.device.text == "clear F0 send0 F1 send1 receive0 B0 receive1 B1 ");
  join(s.plan, s.device);
}

TEST_CASE("polling posts what can be posted, and stands still until an event happens") {
  setup s(one_f_one_b(2, 2) | lower(), 0, wait_detail::all);
  poll_cursor cursor(s.plan);
  auto const let_happen = [&](char const* name) {
    for (int i = 0; i < s.plan.size(); ++i)
      if (to_string(s.plan.at(i).what).find(name) == 0) {
        REQUIRE(s.plan.events().event_of(i) >= 0);
        s.device.event_of(s.plan.events().event_of(i)).happened = true;
      }
  };
  // A pass or a clear each time. The receives wait for nothing, but stand after sends.
  CHECK(poll(s.plan, cursor, s.worker, s.device));
  CHECK(poll(s.plan, cursor, s.worker, s.device));
  std::string const first = s.device.text;
  CHECK(first == "clear F0 ");
  let_happen("0F0");
  CHECK(poll(s.plan, cursor, s.worker, s.device));
  CHECK(s.device.text.substr(first.size()).find("send0") == 0);
  while (poll(s.plan, cursor, s.worker, s.device)) continue;
  std::string const stuck = s.device.text;
  CHECK(stuck.find("B0") == std::string::npos);
  CHECK_FALSE(cursor.is_at_end(s.plan, s.device));
  s.device.at_once = true;  // from now on all is done when it is recorded
  for (auto& e : s.device.events) e.happened = e.recorded;
  while (poll(s.plan, cursor, s.worker, s.device)) continue;
  CHECK(cursor.is_at_end(s.plan, s.device));
  CHECK(s.device.text.find("B1") != std::string::npos);
  cursor.reset();
  CHECK_FALSE(cursor.is_posted(s.plan, 0));
}

// The first backward's input is late, and the third forward stands behind it.
TEST_CASE("of the passes in the window, the first that is ready starts, each once") {
  program const p = lower(one_f_one_b(2, 3), {.slots = slot_reuse::never});
  int const late = mutate::find(p, 0, opcode::receive, {B, 1, 0});
  for (int window : {1, 2, 3}) {
    setup s(p, 0, window > 1 ? wait_detail::any_pass_order : wait_detail::all);
    poll_cursor cursor(s.plan, window);
    auto const run = [&](bool is_there) {
      bool moved = true;
      while (moved) {
        moved = poll(s.plan, cursor, s.worker, s.device);
        for (int i = 0; i < s.plan.size(); ++i)
          if (int const e = s.plan.events().event_of(i); e >= 0 && (is_there || i != late)) {
            moved |= s.device.event_of(e).recorded && !s.device.event_of(e).happened;
            s.device.event_of(e).happened = s.device.event_of(e).recorded;
          }
      }
    };
    run(false);
    std::string const early = s.device.text;
    CHECK((count_of_word(early, "F1 ") == 1 && count_of_word(early, "B0 ") == 0));
    CHECK(count_of_word(early, "F2 ") == (window > 1 ? 1 : 0));
    CHECK_FALSE(cursor.is_at_end(s.plan, s.device));
    run(true);
    CHECK(cursor.is_at_end(s.plan, s.device));
    for (char const* each : {"F0 ", "F1 ", "F2 ", "B0 ", "B1 ", "B2 ", "send0 ", "send1 ", "send2 "})
      CHECK(count_of_word(s.device.text, each) == 1);
  }
}

TEST_CASE("a lane is run by itself") {
  setup s(one_f_one_b(2, 2) | lower(), 1);
  for (auto& e : s.device.events) e.recorded = true;  // by other lanes
  run_lane(s.plan, first_transfer_lane, s.worker, s.device);
  CHECK(s.device.text == "receive0 receive1 send0 send1 ");
}

// Notes also what it sums, what it records and who waits.
struct summing_device : written {
  using written::written;
  void record(queue& q, event& e) {
    text += "record ";
    written::record(q, e);
  }
  void wait(queue& q, event&) { text += "wait" + std::to_string(&q - queues.data()) + ' '; }
  void all_reduce(queue&, collective_call const&) { text += "sum "; }
  void all_gather(queue&, collective_call const&) {}
  void reduce_scatter(queue&, collective_call const&) {}
};

struct listening_worker : plain {
  void reduced(summing_device::queue&, parameter_frame const&) { device->text += "told "; }
  buffer shard(int group, int replica) {
    device->text += "shard" + std::to_string(group) + 'r' + std::to_string(replica) + ' ';
    return {};
  }
};

struct summing_setup {
  summing_setup(program const& p, int d)
      : slots(slot_layout(p.view(), 0, d, [](value_key) { return value_layout{64}; })),
        memory(slots.total, slots.alignment),
        plan(p.view(), 0, d, listening_worker{}, slots, memory.data(), wait_detail::all),
        device(plan),
        worker{{&device}} {}
  slot_table slots;
  aligned_memory memory;
  device_plan plan;
  summing_device device;
  listening_worker worker;
};

TEST_CASE("who waits for a sum waits until the worker has been told") {
  summing_setup s(two_ways(2) | repeat(micro_batches{2}) | squeeze() | lower(), 0);
  int sums = 0;
  for (int i = 0; i < s.plan.size(); ++i) {
    if (s.plan.at(i).what.code != opcode::all_reduce) continue;
    s.device.text.clear();
    issue(s.plan, i, s.worker, s.device);
    ++sums;
    std::string const& text = s.device.text;
    REQUIRE(s.plan.events().event_of(i) >= 0);
    CHECK(text.substr(text.find("sum ")) == "sum told record ");
    auto const waits = s.plan.events().waits_of(i);
    CHECK(waits.size() > 0);
    CHECK(count_of_word(text, "wait") == static_cast<int>(waits.size()));
  }
  CHECK(sums == 2);
}

TEST_CASE("polling tells the worker of a sum when it is done, no sooner") {
  summing_setup s(two_ways(2) | repeat(micro_batches{2}) | squeeze() | lower(), 0);
  poll_cursor cursor(s.plan);
  auto const let_happen = [&](bool sums, bool others) {
    for (int i = 0; i < s.plan.size(); ++i)
      if (int const e = s.plan.events().event_of(i);
          e >= 0 && (s.plan.at(i).what.code == opcode::all_reduce ? sums : others))
        s.device.event_of(e).happened = s.device.event_of(e).recorded;
  };
  while (poll(s.plan, cursor, s.worker, s.device)) let_happen(false, true);
  CHECK(count_of_word(s.device.text, "sum ") == 1);  // the second one stands behind it
  CHECK(count_of_word(s.device.text, "told ") == 0);
  CHECK_FALSE(cursor.is_at_end(s.plan, s.device));
  let_happen(true, true);
  while (poll(s.plan, cursor, s.worker, s.device)) let_happen(true, true);
  CHECK(count_of_word(s.device.text, "sum ") == 2);
  CHECK(count_of_word(s.device.text, "told ") == 2);
  CHECK(cursor.is_at_end(s.plan, s.device));
}

TEST_CASE("all queues wait for the end of a step") {
  summing_setup s(one_f_one_b(2, 2) | lower(), 0);
  join(s.plan, s.device);
  int const ends = static_cast<int>(s.plan.events().last().size());
  CHECK(ends > 0);
  REQUIRE(s.plan.lane_count() >= 2);
  for (int lane = 0; lane < s.plan.lane_count(); ++lane)
    CHECK(count_of_word(s.device.text, "wait" + std::to_string(lane) + ' ') == ends);
}

TEST_CASE("a gather asks for the shard of this device among the holders") {
  program const p = lower(two_ways(2) | repeat(micro_batches{2}) | squeeze(),
                          {.data_ranks = 2, .sharding = sharding_level::full});
  for (int d : {0, 1}) {
    summing_setup s(p, d);
    issue_stream(s.plan, s.worker, s.device);
    for (int group : {0, 1}) {
      std::string const asked = "shard" + std::to_string(group) + 'r';
      int const mine = p.groups.member_of(group, d);
      CHECK(count_of_word(s.device.text, asked + std::to_string(mine) + ' ') > 0);
      CHECK(count_of_word(s.device.text, asked + std::to_string(1 - mine) + ' ') == 0);
    }
  }
}

struct dividing_worker : listening_worker {
  void backward_input(summing_device::queue&, frame const&) {}
  void backward_weight(summing_device::queue&, frame const&) {}
};

TEST_CASE("a verb that the worker lacks is not called") {
  summing_setup s(catalog::find("dualpipe")->make({devices{2}, micro_batches{4}}) | lower(), 0);
  CHECK_THROWS_WITH_AS(issue_stream(s.plan, s.worker, s.device),
                       "the worker lacks a verb that the program needs: check_able() names it",
                       std::invalid_argument);
}

TEST_CASE("each pass of an overlapped pair runs once") {
  program const p = catalog::find("dualpipe")->make({devices{2}, micro_batches{4}}) | lower();
  summing_setup s(p, 0);
  dividing_worker worker{s.worker};
  issue_stream(s.plan, worker, s.device);
  int passes = 0, pairs = 0;
  for (int i = 0; i < s.plan.size(); ++i) {
    instruction const& each = s.plan.at(i).what;
    pairs += each.overlaps_next;
    passes += each.code == opcode::compute && (each.what.kind == F || each.what.kind == B);
  }
  CHECK(pairs > 0);
  int run = 0;
  for (int k = 0; k < 4; ++k)
    for (char const kind : {'F', 'B'})
      run += count_of_word(s.device.text, kind + std::to_string(k) + ' ');
  CHECK(run == passes);
}

}  // namespace
