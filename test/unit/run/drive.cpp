#include <ashlar/run/drive.hpp>
// The header above comes first: it needs nothing before it.
#include "../../mutate.hpp"
#include "../../shapes.hpp"
#include "../../violations.hpp"
#include "../../written_device.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/lower/lower.hpp>

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>

using namespace shapes;
using namespace written_device;

namespace {

// A backend has to say what it needs.
struct silent : written {
  int needs = 0;
};
static_assert(!device_backend<silent>);

// Checks what a plain worker and a device of that class can do.
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

// It blocks at each instruction of its stream.
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
  // One that no lanes bring to its end is not accepted either.
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

TEST_CASE("a lane is run by itself") {
  setup s(one_f_one_b(2, 2) | lower(), 1);
  for (auto& e : s.device.events) e.recorded = true;  // by other lanes
  run_lane(s.plan, first_transfer_lane, s.worker, s.device);
  CHECK(s.device.text == "receive0 receive1 send0 send1 ");
}

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
