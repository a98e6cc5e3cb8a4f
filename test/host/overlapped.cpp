// The engine's handling of an overlapped pair.
#include <ashlar/catalog/entries.hpp>
#include <ashlar/conformance/network.hpp>
#include <ashlar/host/runtime.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/run/host_memory.hpp>
#include <ashlar/run/sequential.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <cstddef>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace ashlar;

namespace {

// A worker that overlaps: it does the two parts in an order that only works if both are ready.
class overlapping_network : public conformance::network {
 public:
  using network::network;

  std::atomic<int> pairs = 0;
  std::atomic<int> of_kind[pass_kinds] = {};
  std::atomic<bool> right = true;

  void overlapped(auto& q, frame const& ahead, frame const& back) {
    ++pairs;
    ++of_kind[static_cast<int>(back.what.kind)];
    if (ahead.what.kind != pass_kind::forward) right = false;
    if (back.what.kind == pass_kind::backward)
      backward(q, back);
    else if (back.what.kind == pass_kind::backward_input)
      backward_input(q, back);
    else if (back.what.kind == pass_kind::backward_weight)
      backward_weight(q, back);
    else
      right = false;
    forward(q, ahead);
  }
};
static_assert(worker<overlapping_network>);

int pairs_in(program const& p) {
  int count = 0;
  for (instruction const& i : p.instructions) count += i.overlaps_next;
  return count;
}

std::vector<program> programs() {
  std::vector<program> all;
  for (char const* name : {"dualpipe", "dualpipev", "stp"})
    for (auto [p, m] : {std::pair{2, 4}, {2, 6}, {4, 8}, {4, 12}})
      for (auto lanes :
           {transfer_lanes::one, transfer_lanes::one_a_peer, transfer_lanes::one_a_direction})
        all.push_back(lower(catalog::find(name)->make({devices{p}, micro_batches{m}}), {lanes}));
  return all;
}

// A device that notes what is put on its queues: "w" and an event that is waited for, "r" and one that
// is recorded.
struct notes {
  static constexpr progress_level needs = progress_level::independent_lanes;
  struct queue {};
  using event = int;
  explicit notes(device_plan const& plan) : events(static_cast<std::size_t>(plan.events().count())) {
    std::iota(events.begin(), events.end(), 0);
  }
  queue& queue_of(int) { return only; }
  event& event_of(int n) { return events[static_cast<std::size_t>(n)]; }
  void record(queue&, event e) { all += "r" + std::to_string(e) + " "; }
  void wait(queue&, event e) { all += "w" + std::to_string(e) + " "; }
  bool query(event) { return true; }
  void send(queue&, transfer_call const&) { all += "send "; }
  void receive(queue&, transfer_call const&) { all += "receive "; }
  void clear(queue&, buffer) {}
  void all_reduce(queue&, collective_call const&) {}
  void all_gather(queue&, collective_call const&) {}
  void reduce_scatter(queue&, collective_call const&) {}

  queue only;
  std::vector<event> events;
  std::string all;
};
static_assert(collective_backend<notes>);

}  // namespace

TEST_CASE("host: a worker that can overlap gets each pair once, and the bits stay") {
  for (program const& p : programs()) {
    REQUIRE(pairs_in(p) > 0);
    overlapping_network w(p.stage_count(), p.micro_batch_count());
    sequential(p, w).run();
    auto const expected = w.take();
    for (auto mode : {host::send_mode::rendezvous, host::send_mode::buffered}) {
      w.pairs = 0;
      w.delays = 5;
      host::runtime(p, w, {.mode = mode}).run();
      CHECK(w.take() == expected);
      CHECK(w.pairs == pairs_in(p));
      CHECK(w.right);
    }
  }
}

TEST_CASE("host: the pairs of STP are of every kind") {
  program const p = lower(catalog::find("stp")->make({devices{4}, micro_batches{16}}));
  overlapping_network w(p.stage_count(), p.micro_batch_count());
  host::runtime(p, w).run();
  auto const count_of = [&](pass_kind kind) { return w.of_kind[static_cast<int>(kind)].load(); };
  CHECK(count_of(pass_kind::backward) == 4 * (2 * 5 + 1) + 0 + 1 + 2 + 3);
  CHECK(count_of(pass_kind::backward_input) == 9 + 8 + 7 + 6);
  CHECK(count_of(pass_kind::backward_weight) == 3 + 2 + 1 + 0);
  CHECK(w.right);
}

TEST_CASE("host: a worker that cannot gets one part after the other") {
  for (program const& p : programs()) {
    conformance::network w(p.stage_count(), p.micro_batch_count());
    sequential(p, w).run();
    auto const expected = w.take();
    host::runtime(p, w).run();
    CHECK(w.take() == expected);
  }
}

TEST_CASE("engine: both parts of a pair wait before either begins, and are done together") {
  for (program const& p : programs()) {
    if (p.lanes != transfer_lanes::one) continue;
    for (int d = 0; d < p.device_count(); ++d) {
      overlapping_network w(p.stage_count(), p.micro_batch_count());
      slot_table const slots = slot_layout(p.view(), 0, d, [&](value_key key) { return w.layout(key); });
      aligned_memory const memory(slots.total, slots.alignment);
      device_plan const plan(p.view(), 0, d, w, slots, memory.data());
      wait_table const hazards = waits(p.view(), d);
      int pairs = 0;
      for (int i = 0; i < plan.size(); ++i) {
        if (!plan.at(i).what.overlaps_next) continue;
        ++pairs;
        CHECK(plan.events().waits_of(i + 1).empty());
        CHECK(plan.events().event_of(i + 1) < 0);
        std::set<int> wanted;  // lanes that either part has to wait for
        for (int part : {i, i + 1})
          for (int other : hazards.of(part)) wanted.insert(plan.at(other).what.lane);
        CHECK(plan.events().waits_of(i).size() <= wanted.size());
        notes n(plan);
        int const before = w.pairs;
        issue(plan, i, w, n);
        CHECK(w.pairs == before + 1);
        std::string expected;
        for (int other : plan.events().waits_of(i))
          expected += "w" + std::to_string(plan.events().event_of(other)) + " ";
        if (int const event = plan.events().event_of(i); event >= 0)
          expected += "r" + std::to_string(event) + " ";
        CHECK(n.all == expected);
        n.all.clear();
        issue(plan, i + 1, w, n);
        CHECK(n.all.empty());  // done already
        CHECK(w.pairs == before + 1);
      }
      CHECK(pairs > 0);
    }
  }
}
