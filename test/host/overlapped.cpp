// How the engine runs an overlapped pair.
#include "../small_network.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/host/runtime.hpp>
#include <ashlar/host/sequential.hpp>
#include <ashlar/lower/lower.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <utility>
#include <vector>

using namespace ashlar;

namespace {

// A worker that overlaps: it does the two parts in an order that only works if both are ready.
class overlapping_network : public test::small_network {
 public:
  using small_network::small_network;

  std::atomic<int> pairs = 0;
  std::atomic<bool> right = true;

  void overlapped(frame const& ahead, frame const& back) {
    ++pairs;
    if (ahead.what.kind != pass_kind::forward || back.what.kind != pass_kind::backward) right = false;
    backward(back);
    forward(ahead);
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
  for (char const* name : {"dualpipe", "dualpipev"})
    for (auto [p, m] : {std::pair{2, 4}, {2, 6}, {4, 8}, {4, 12}})
      for (auto lanes : {transfer_lanes::one, transfer_lanes::one_a_peer})
        all.push_back(lower(catalog::find(name)->make({devices{p}, micro_batches{m}}), {lanes}));
  return all;
}

// Notes what it is told, for one device.
struct note {
  enum { waits, begins, done } what;
  int index;
};
struct notes {
  std::vector<note> all;
  void wait(instruction const&, int index) { all.push_back({note::waits, index}); }
  void begin(instruction const&, int index) { all.push_back({note::begins, index}); }
  void done(instruction const&, int index) { all.push_back({note::done, index}); }
  void send(instruction const&, message, buffer) {}
  void receive(instruction const&, message, buffer) {}
  void reduce(instruction const&, buffer) {}
  void clear(instruction const&, buffer) {}
};
static_assert(transport<notes>);

}  // namespace

TEST_CASE("host: a worker that can overlap gets each pair once, and the bits stay") {
  for (program const& p : programs()) {
    REQUIRE(pairs_in(p) > 0);
    overlapping_network w(p.stage_count(), p.micro_batch_count());
    host::sequential(p, w).run();
    auto const expected = w.take();
    for (auto mode : {host::transfer_mode::rendezvous, host::transfer_mode::buffered}) {
      w.pairs = 0;
      w.delays = 5;
      host::runtime(p, w, {.mode = mode}).run();
      CHECK(w.take() == expected);
      CHECK(w.pairs == pairs_in(p));
      CHECK(w.right);
    }
  }
}

TEST_CASE("host: a worker that cannot gets one part after the other") {
  for (program const& p : programs()) {
    test::small_network w(p.stage_count(), p.micro_batch_count());
    host::sequential(p, w).run();
    auto const expected = w.take();
    host::runtime(p, w).run();
    CHECK(w.take() == expected);
  }
}

TEST_CASE("engine: both parts of a pair wait before either begins, and are done together") {
  program const p = programs().front();
  for (int d = 0; d < p.device_count(); ++d) {
    test::small_network w(p.stage_count(), p.micro_batch_count());
    std::vector<std::vector<double>> memory(p.view().slots_of(d).size(), std::vector<double>(16));
    std::vector<buffer> slots;
    for (auto& m : memory) slots.push_back(std::as_writable_bytes(std::span(m)));
    device_plan const plan(p.view(), d, slots, [&](slot_kind k, int s) { return w.bytes(k, s); });
    int pairs = 0;
    for (int i = 0; i < plan.size(); ++i) {
      notes n;
      interpret(plan, i, w, n);
      if (i > 0 && plan.at(i - 1).what.overlaps_next) {
        CHECK(n.all.empty());  // done already
        continue;
      }
      int const parts = plan.at(i).what.overlaps_next ? 2 : 1;
      pairs += parts - 1;
      std::size_t waited = plan.waits_of(i).size();
      if (parts == 2) waited += plan.waits_of(i + 1).size();
      REQUIRE(n.all.size() == waited + 2 * static_cast<std::size_t>(parts));
      for (std::size_t at = 0; at < waited; ++at) CHECK(n.all[at].what == note::waits);
      for (int part = 0; part < parts; ++part) {
        auto const at = waited + static_cast<std::size_t>(part);
        CHECK(n.all[at].what == note::begins);
        CHECK(n.all[at].index == i + part);
        CHECK(n.all[at + static_cast<std::size_t>(parts)].what == note::done);
        CHECK(n.all[at + static_cast<std::size_t>(parts)].index == i + part);
      }
    }
    CHECK(pairs > 0);
  }
}
