#include <ashlar/prove/window.hpp>
// The header above comes first: it needs nothing before it.
#include "catalog_cases.hpp"
#include "mutate.hpp"
#include "random.hpp"
#include "shapes.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/lower/lower.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <utility>
#include <vector>

using namespace shapes;
using namespace mutate;

namespace {

static_assert(check_window(lower(one_f_one_b(2, 2)), 3).ok());

TEST_CASE("every program of the catalog may run its passes in any order within any window") {
  for (catalog::entry const& e : catalog::entries) {
    catalog::shape shape{devices{2}, micro_batches{4}};
    REQUIRE(e.check(shape).ok());
    schedule const s = e.make(shape);
    for (auto const lanes : {transfer_lanes::one, transfer_lanes::one_a_direction})
      for (auto const slots : {slot_reuse::when_free, slot_reuse::never}) {
        program const p = lower(s, {.lanes = lanes, .slots = slots});
        for (int const window : {1, 2, 3, 8, std::numeric_limits<int>::max()}) {
          diagnosis const d = check_window(p, window);
          CAPTURE(e.name);
          CAPTURE(window);
          CHECK(d.ok());
        }
      }
  }
}

TEST_CASE("what ranks share, the optimizer's step and copies to the host keep their place") {
  schedule const s = catalog::find("zb-h1")->make({devices{2}, micro_batches{4}});
  for (auto const level : {sharding_level::none, sharding_level::gradients, sharding_level::full})
    CHECK(check_window(lower(s, {.data_ranks = 2,
                                 .sharding = level,
                                 .step = optimizer_step::after_norm,
                                 .offload = {.forwards = {{F, 0, 1}, {F, 0, 2}}, .copy = {1}}}),
                       4)
              .ok());
}

TEST_CASE("a window of no pass, and a program that is wrong in order, are refused") {
  program p = lower(one_f_one_b(2, 2));
  for (int const window : {0, -1, std::numeric_limits<int>::min()}) {
    CHECK(check_window(p, window).broken == rule::counts_are_positive);
    CHECK(check_window(p, window).number == window);
  }
  move(p, 1, find(p, 1, opcode::receive, {F, 0, 1}), find(p, 1, opcode::send, {B, 1, 0}));
  CHECK(check_window(p, 2) == check(p));
  CHECK(check_window(p, 2).broken == rule::no_cycle_of_waits);
  p.stream_begin.pop_back();
  CHECK(check_window(p.view(), 2).broken == rule::tables_agree);
}

diagnosis judged(program_view const& p, int device, event_table const& table, int window) {
  return prove_detail::window_walk(p, device, table, window).run();
}

TEST_CASE("waits for passes in order are enough in order alone") {
  program const p = lower(one_f_one_b(1, 3));
  event_table const in_order(p.view(), 0, wait_detail::all),
      in_any(p.view(), 0, wait_detail::any_pass_order);
  CHECK(judged(p.view(), 0, in_order, 1).ok());
  for (int const window : {1, 2, 5}) CHECK(judged(p.view(), 0, in_any, window).ok());
  diagnosis const d = judged(p.view(), 0, in_order, 2);
  CHECK(d.broken == rule::nothing_is_issued_before_what_it_waits_for);
  CHECK((d.first.device == 0 && d.second.device == 0));
  CHECK(d.second.index < d.first.index);
}

// All orders of one device's stream, by trying: an instruction starts when its waits are over, on the
// lane of passes any of the next `window`, on the others the next; those of passes end at once, the
// others at any time.
class every_order {
 public:
  every_order(program const& p, event_table const& table, int window)
      : p_(p.view()), stream_(p_.stream(0)), table_(table), window_(window) {}

  // Whether nothing ever starts before what it needs has ended, and the end is always reached.
  bool are_safe() {
    std::vector<std::pair<bits, bits>> open{{0, 0}};
    while (!open.empty()) {
      auto const [begun, ended] = open.back();
      open.pop_back();
      if (!seen_.insert({begun, ended}).second) continue;
      bool moves = false;
      for (int i = 0; i < count(); ++i) {
        if (has(begun, i) && !has(ended, i)) {
          moves = true;
          open.push_back({begun, ended | bit(i)});
        }
        if (has(begun, i) || !may_start(begun, ended, i)) continue;
        for (int j = 0; j < i; ++j)
          if (!has(ended, j) && needs(i, j)) return false;
        moves = true;
        bool const at_once = lane(i) == compute_lane || stream_[index(i)].code == opcode::release;
        open.push_back({begun | bit(i), at_once ? ended | bit(i) : ended});
      }
      if (!moves && ended != bit(count()) - 1) return false;
    }
    return true;
  }

 private:
  using bits = std::uint64_t;
  static bits bit(int i) { return bits{1} << static_cast<unsigned>(i); }
  static bool has(bits set, int i) { return (set & bit(i)) != 0; }
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  int count() const { return static_cast<int>(stream_.size()); }
  int lane(int i) const { return stream_[index(i)].lane; }

  bool may_start(bits begun, bits ended, int i) const {
    int first = -1, place = 0;
    for (int j = 0; j < i; ++j) {
      if (lane(j) != lane(i)) continue;
      if (first >= 0 || !has(begun, j)) {
        if (first < 0) first = j;
        ++place;
      }
    }
    if (place >= (lane(i) == compute_lane ? window_ : 1)) return false;
    for (int other : table_.waits_of(i))
      if (!has(ended, other)) return false;
    return true;
  }
  bool needs(int later, int earlier) const {
    instruction const &a = stream_[index(later)], &b = stream_[index(earlier)];
    for (operand const& x : p_.operands_of(a))
      for (operand const& y : p_.operands_of(b))
        if (x.slot == y.slot && (x.how != access::read || y.how != access::read)) return true;
    if (a.lane != compute_lane || b.lane != compute_lane) return false;
    if (!may_go_ahead(a) || !may_go_ahead(b)) return true;
    return a.what.kind == b.what.kind && a.what.stage == b.what.stage;
  }

  program_view p_;
  list_view<instruction> stream_;
  event_table const& table_;
  int window_;
  std::set<std::pair<bits, bits>> seen_;
};

// It takes the waits of a program in which some slots have been exchanged: some are missing, some too
// many.
TEST_CASE("what is proved of one device's waits is what all of its orders say") {
  int safe = 0, wrong = 0, foreign = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    random_case::dice d(seed);
    bool const away = d.percent(40);
    schedule const s = catalog::find(d.percent(50) ? "gpipe" : "zb-h1")
                           ->make({devices{1}, micro_batches{away ? 2 : d.between(2, 3)}});
    program const p =
        lower(s, {.slots = d.percent(50) ? slot_reuse::never : slot_reuse::when_free,
                  .offload = {.forwards = away ? std::vector<pass>{{F, 0, 0}} : std::vector<pass>{},
                              .copy = {1}}});
    program other = p;
    for (int changes = d.between(0, 2); changes > 0; --changes) {
      auto const changed =
          static_cast<std::size_t>(d.between(0, static_cast<int>(other.operands.size()) - 1));
      other.operands[changed].slot = d.between(0, static_cast<int>(p.view().slots_of(0).size()) - 1);
    }
    event_table const table(other.view(), 0,
                            d.percent(80) ? wait_detail::any_pass_order : wait_detail::all);
    int const window = d.between(1, 4);
    diagnosis const proof = judged(p.view(), 0, table, window);
    // A wait that nothing implies is refused even if the end is reached with it.
    if (proof.broken == rule::no_cycle_of_waits) {
      ++foreign;
      continue;
    }
    CAPTURE(seed);
    CHECK(proof.ok() == every_order(p, table, window).are_safe());
    ++(proof.ok() ? safe : wrong);
  }
  CHECK(safe > 50);
  CHECK(wrong > 50);
  CHECK(foreign > 0);
}

}  // namespace
