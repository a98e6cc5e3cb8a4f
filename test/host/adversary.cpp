// The engine on devices that do everything late: all three ways to drive a plan give the bits, and each
// mistake of an engine is found.
#include "../adversary/worker.hpp"
#include "random_cases.hpp"
#include <ashlar/conformance/conforms.hpp>
#include <ashlar/program/issue_order.hpp>
#include <ashlar/run/poll.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace ashlar;

namespace {

enum class way : unsigned char { issue, poll, lanes };

// All ranks and devices of a program.
template <class Worker, class Inner>
class late_machine {
 public:
  late_machine(program const& p, std::vector<Inner*> const& ranks, way how, adversary::options o,
               wait_detail detail)
      : p_(p), how_(how), fabric_(o) {
    check_able<Worker, adversary::device>(p.view());
    for (int rank = 0; rank < p.data_ranks; ++rank) {
      workers_.emplace_back(*ranks[static_cast<std::size_t>(rank)]);
      for (int d = 0; d < p.device_count(); ++d) {
        auto const& w = workers_.back();
        slot_table const slots =
            slot_layout(p.view(), rank, d, [&](value_key key) { return w.layout(key); });
        memory_.emplace_back(slots.total, slots.alignment);
        plans_.emplace_back(p.view(), rank, d, w, slots, memory_.back().data(), detail);
        devices_.push_back(std::make_unique<adversary::device>(p.view(), rank, d, fabric_));
        devices_.back()->own(plans_.back(), slots, memory_.back().data(), how == way::lanes);
      }
    }
  }

  void run() {
    fabric_.step_begins();
    for (auto& d : devices_) d->step_begins();
    if (how_ == way::issue) {
      // One thread for all devices; the ranks do the same side by side.
      for (int const i : issue_order(p_.view()))
        for (int rank = 0; rank < p_.data_ranks; ++rank) {
          std::size_t const d = device_of(i), at = this->at(rank, d);
          issue(plans_[at], i - p_.stream_begin[d], workers_[static_cast<std::size_t>(rank)],
                *devices_[at]);
        }
    } else if (how_ == way::poll) {
      std::vector<poll_cursor> cursors(plans_.begin(), plans_.end());
      for (bool all = false; !all;) {
        all = true;
        for (std::size_t at = 0; at < plans_.size(); ++at) {
          poll(plans_[at], cursors[at], worker_of(at), *devices_[at]);
          all = all && cursors[at].is_at_end(plans_[at], *devices_[at]);
        }
        std::this_thread::yield();
      }
    } else {
      std::vector<std::thread> lanes;
      for (std::size_t at = 0; at < plans_.size(); ++at)
        for (int lane = 0; lane < plans_[at].lane_count(); ++lane)
          lanes.emplace_back(
              [this, at, lane] { run_lane(plans_[at], lane, worker_of(at), *devices_[at]); });
      for (std::thread& t : lanes) t.join();
    }
    fabric_.all.drain();
  }

 private:
  std::size_t device_of(int i) const {
    std::size_t d = 0;
    while (p_.stream_begin[d + 1] <= i) ++d;
    return d;
  }
  std::size_t at(int rank, std::size_t device) const {
    return static_cast<std::size_t>(rank) * static_cast<std::size_t>(p_.device_count()) + device;
  }
  Worker& worker_of(std::size_t at) {
    return workers_[at / static_cast<std::size_t>(p_.device_count())];
  }

  program const& p_;
  way how_;
  adversary::fabric fabric_;
  std::deque<Worker> workers_;
  std::vector<aligned_memory> memory_;
  std::vector<device_plan> plans_;
  std::vector<std::unique_ptr<adversary::device>> devices_;
};

using late = adversary::late_worker<conformance::network>;
using late_ranks = adversary::late_sharded_worker<conformance::sharded_network>;

template <class Worker, class Inner>
void run_late(program const& p, std::vector<Inner*> const& ranks, way how, adversary::options o,
              wait_detail detail, int steps = 1) {
  for (Inner* w : ranks) w->delays = 0;  // there are others
  late_machine<Worker, Inner> machine(p, ranks, how, o, detail);
  for (int step = 0; step < steps; ++step) {
    for (Inner* w : ranks) w->take();  // the last step's results alone
    machine.run();
  }
}

// Step after step on the same devices.
class late_steps {
 public:
  void run(program const& p, std::vector<conformance::sharded_network*> const& ranks, way how,
           adversary::options o, wait_detail detail) {
    if (of_ != &p) {
      for (conformance::sharded_network* w : ranks) w->delays = 0;
      machine_ = std::make_unique<late_machine<late_ranks, conformance::sharded_network>>(p, ranks, how,
                                                                                          o, detail);
      of_ = &p;
    }
    machine_->run();
  }

 private:
  program const* of_ = nullptr;
  std::unique_ptr<late_machine<late_ranks, conformance::sharded_network>> machine_;
};

// What work keeps from step to step makes the second step another one than the first.
bool keeps_state(program const& p) {
  for (work_view::job const& j : p.work.view().jobs)
    if (j.keeps_state) return true;
  return false;
}

// Every n-th, another selection for each way. There are three of each program, with different lanes:
// with a step that has no divisor in common with nine, each way meets all kinds, and of the programs of
// one schedule each meets another way.
std::vector<conformance::sample_program> some(std::vector<conformance::sample_program> all,
                                              std::size_t first, std::size_t step) {
  std::vector<conformance::sample_program> few;
  for (std::size_t i = first; i < all.size(); i += step) few.push_back(std::move(all[i]));
  return few;
}

constexpr std::size_t step_of_selections = 8;

struct setting {
  way how;
  bool in_order;
  bool buffered;
};
constexpr setting settings[] = {
    {way::issue, true, false}, {way::issue, true, true},  {way::issue, false, false},
    {way::issue, false, true}, {way::poll, true, false},  {way::poll, false, false},
    {way::poll, false, true},  {way::lanes, true, false}, {way::lanes, true, true}};

wait_detail detail_for(bool in_order) {
  return in_order ? wait_detail::last_of_a_lane : wait_detail::all;
}

// Whether two steps of a program go wrong, with all their ranks.
bool goes_wrong(program const& p, adversary::options o, wait_detail detail) {
  o.held = true;
  o.threads = 1;  // what goes wrong is no race
  if (p.data_ranks > 1 || p.step != optimizer_step::none) {
    late_steps steps;
    return !conformance::ranks_conform(
                {{"mutant", p}},
                [&](program const& q, std::vector<conformance::sharded_network*> const& ranks) {
                  steps.run(q, ranks, way::issue, o, detail);
                })
                .ok();
  }
  return !conformance::conforms({{"mutant", p}}, [&](program const& q, conformance::network& w) {
            run_late<late>(q, std::vector{&w}, way::issue, o, detail, 2);
          }).ok();
}

program small(char const* name) {
  return catalog::find(name)->make({devices{3}, micro_batches{5}}) | lower();
}

// A wait of an instruction for another; indices into the program.
struct wait {
  int of, on;
};

// All waits of a program, in the order in which they are issued.
std::vector<wait> all_waits(program const& p, wait_detail detail) {
  std::vector<wait> all;
  std::vector<event_table> events;
  for (int d = 0; d < p.device_count(); ++d) events.emplace_back(p.view(), d, detail);
  for (int const i : issue_order(p.view())) {
    std::size_t d = 0;
    while (p.stream_begin[d + 1] <= i) ++d;
    for (int const on : events[d].waits_of(i - p.stream_begin[d]))
      all.push_back({i, p.stream_begin[d] + on});
  }
  return all;
}

// Whether other waits, and what other devices wait for, bring about what a wait is for.
bool is_implied(program const& p, std::vector<wait> const& all, wait dropped, bool in_order) {
  std::size_t const n = p.instructions.size();
  std::vector<std::vector<std::size_t>> after(2 * n);  // of the start and the end of each instruction
  auto const start = [](int i) { return 2 * static_cast<std::size_t>(i); };
  auto const end = [](int i) { return 2 * static_cast<std::size_t>(i) + 1; };
  for (wait const& w : all)
    if (w.of != dropped.of || w.on != dropped.on) after[start(w.of)].push_back(end(w.on));
  for (int d = 0; d < p.device_count(); ++d) {
    std::vector<int> before(static_cast<std::size_t>(p.view().lane_count), -1);
    for (int i = p.stream_begin[static_cast<std::size_t>(d)];
         i < p.stream_begin[static_cast<std::size_t>(d) + 1]; ++i) {
      int& last = before[static_cast<std::size_t>(p.instructions[static_cast<std::size_t>(i)].lane)];
      after[end(i)].push_back(start(i));
      if (last >= 0) after[start(i)].push_back(in_order ? end(last) : start(last));
      last = i;
    }
  }
  std::vector<int> const order = issue_order(p.view());
  for (std::size_t k = 1; k < order.size(); ++k)
    if (p.instructions[static_cast<std::size_t>(order[k])].code == opcode::receive)
      after[end(order[k])].push_back(end(order[k - 1]));
  std::vector<char> seen(2 * n, 0);
  // What is received is written when it comes.
  bool const comes = p.instructions[static_cast<std::size_t>(dropped.of)].code == opcode::receive;
  std::vector<std::size_t> todo{comes ? end(dropped.of) : start(dropped.of)};
  while (!todo.empty()) {
    std::size_t const at = todo.back();
    todo.pop_back();
    if (at == end(dropped.on)) return true;
    for (std::size_t next : after[at])
      if (std::exchange(seen[next], 1) == 0) todo.push_back(next);
  }
  return false;
}

}  // namespace

TEST_CASE("adversary: all programs pass, however they are driven") {
  std::uint64_t seed = 1;
  std::size_t first = 0;
  for (setting const& s : settings) {
    conformance::report const r = conformance::conforms(
        some(listed_cases(conformance::sample_programs()), first++, step_of_selections),
        [&](program const& p, conformance::network& w) {
          run_late<late>(p, std::vector{&w}, s.how,
                         {.in_order = s.in_order, .buffered = s.buffered, .seed = seed++},
                         detail_for(s.in_order), keeps_state(p) ? 1 : 2);
        });
    CHECK(r.programs > random_cases(12));
    for (std::string const& failure : r.failures) FAIL_CHECK(failure);
  }
}

TEST_CASE("adversary: so do those of data-parallel ranks") {
  std::uint64_t seed = 1;
  std::size_t first = 0;
  for (setting const& s : settings) {
    late_steps steps;
    conformance::report const r = conformance::ranks_conform(
        some(listed_cases(conformance::programs_of_ranks()), first++, step_of_selections),
        [&](program const& p, std::vector<conformance::sharded_network*> const& ranks) {
          steps.run(p, ranks, s.how, {.in_order = s.in_order, .buffered = s.buffered, .seed = seed++},
                    detail_for(s.in_order));
        });
    CHECK(r.programs > random_cases(8));
    for (std::string const& failure : r.failures) FAIL_CHECK(failure);
  }
}

TEST_CASE("adversary: a hazard that is dropped is found, whichever it is") {
  int checked = 0;
  for (char const* name : {"1f1b", "zb-h1", "v-half", "seq1f1b"})
    for (bool in_order : {true, false}) {
      program const p = small(name);
      wait_detail const detail = detail_for(in_order);
      std::vector<wait> const all = all_waits(p, detail);
      CHECK_FALSE(goes_wrong(p, {.in_order = in_order}, detail));
      for (std::size_t which = 0; which < all.size(); ++which) {
        bool found = false;
        // A rendezvous may bring about on other devices what a wait is for; then it takes a buffer.
        for (std::uint64_t seed = 1; seed <= 20 && !found; ++seed)
          found = goes_wrong(p,
                             {.in_order = in_order,
                              .buffered = seed % 2 == 0,
                              .seed = seed,
                              .threads = 1,
                              .what = adversary::fault::wait_dropped,
                              .which = static_cast<int>(which)},
                             detail);
        CAPTURE(name);
        CAPTURE(in_order);
        CAPTURE(which);
        bool const implied = is_implied(p, all, all[which], in_order);
        CHECK(found == !implied);
        checked += !implied;
      }
    }
  CHECK(checked > 400);
}

// Chains of small passes, one whose ranks share all, with parameters in common, and one with work and a
// norm.
std::vector<conformance::sample_program> victims() {
  std::vector<conformance::sample_program> all;
  for (char const* name : {"1f1b", "zb-h1", "v-half", "seq1f1b"}) all.push_back({name, small(name)});
  schedule const s = catalog::find("v-half")->make({devices{3}, micro_batches{4}});
  all.push_back({"sharded", lower(s, {.data_ranks = 2,
                                      .sharding = sharding_level::full,
                                      .shared_parameters = {{0, s.stage_count() - 1}}})});
  all.push_back({"work and a norm", lower(conformance::with_random_work(s, 2, 4, false),
                                          {.data_ranks = 2, .step = optimizer_step::after_norm})});
  return all;
}

TEST_CASE("adversary: so are hazards within a lane, where lanes are not in order") {
  for (conformance::sample_program const& v : victims()) {
    int found = 0;
    for (std::uint64_t seed = 1; seed <= 10; ++seed)
      found += goes_wrong(v.program, {.in_order = false, .seed = seed}, wait_detail::last_of_a_lane);
    CAPTURE(v.name);
    CHECK(found == 10);
  }
}

TEST_CASE("adversary: so are events that are recorded late, and sends that are done when posted") {
  for (conformance::sample_program const& v : victims())
    for (auto what : {adversary::fault::event_recorded_late, adversary::fault::send_done_when_posted})
      for (bool in_order : {true, false}) {
        int found = 0;
        for (std::uint64_t seed = 1; seed <= 10; ++seed)
          found += goes_wrong(v.program, {.in_order = in_order, .seed = seed, .what = what},
                              detail_for(in_order));
        CAPTURE(v.name);
        CAPTURE(static_cast<int>(what));
        CHECK(found == 10);
      }
}

TEST_CASE("adversary: so are sums that only the first step begins with zeros") {
  for (conformance::sample_program const& v : victims()) {
    CAPTURE(v.name);
    CHECK_FALSE(goes_wrong(v.program, {}, wait_detail::last_of_a_lane));
    CHECK(goes_wrong(v.program, {.what = adversary::fault::cleared_once}, wait_detail::last_of_a_lane));
  }
}
