// Devices that advance by themselves, and orders that one thread may issue: the proofs beside runs that
// know no lane machine and no table of waits.
#include "oracle/agreement.hpp"
#include "random_cases.hpp"
#include <ashlar/program/issue_order.hpp>
#include <ashlar/prove/progress.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace {

using namespace oracle;
using ashlar::progress_level;

// A program as relations between its instructions, by index: what comes first on the device, and which
// others each meets.
class relations {
 public:
  explicit relations(program const& p) : p_(p), all_(p, 1) {
    std::size_t const n = p.instructions.size();
    before_.resize(n);
    meets_.resize(n);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        step const &a = all_.all()[i], &b = all_.all()[j];
        bool const same = a.node == b.node;
        if (same && j < i && (a.what.lane == b.what.lane || conflict(a, b))) before_[i].push_back(j);
        if (!same && all_.waits_for(a.node, a.index, b.node, b.index)) meets_[i].push_back(j);
      }
    for (std::size_t i = 0; i < n; ++i) {
      step const& a = all_.all()[i];
      if (!a.what.overlaps_next) continue;
      meets_[i].push_back(i + 1);
      meets_[i + 1].push_back(i);
      for (std::size_t j : before_[i + 1])
        if (j != i) before_[i].push_back(j);
    }
  }

  // Whether a thread that blocks at each instruction, but for those that meet it, gets through an order.
  bool gets_through(std::vector<int> const& order) const {
    std::vector<char> ended(p_.instructions.size(), 0);
    std::vector<std::size_t> open;  // issued, and not ended
    for (int const index : order) {
      auto const i = static_cast<std::size_t>(index);
      if (index < 0 || i >= ended.size() || ended[i] != 0) return false;
      if (std::find(open.begin(), open.end(), i) != open.end()) return false;
      for (std::size_t j : open)
        if (std::find(meets_[j].begin(), meets_[j].end(), i) == meets_[j].end()) return false;
      for (std::size_t j : before_[i])
        if (ended[j] == 0 && std::find(open.begin(), open.end(), j) == open.end()) return false;
      open.push_back(i);
      if (open.size() <= meets_[i].size()) continue;
      for (std::size_t j : open) ended[j] = 1;
      open.clear();
    }
    return std::find(ended.begin(), ended.end(), 0) == ended.end();
  }

  // Whether devices that take their parts of an order one instruction after the other all come to the
  // end, in any turn: every state that they can reach is visited.
  bool devices_end(std::vector<int> const& order) const {
    std::vector<std::vector<std::size_t>> parts(static_cast<std::size_t>(p_.device_count()));
    for (int i : order)
      parts[static_cast<std::size_t>(all_.all()[static_cast<std::size_t>(i)].node)].push_back(
          static_cast<std::size_t>(i));
    using state = std::vector<std::size_t>;
    state end;
    for (auto const& part : parts) end.push_back(part.size());
    std::vector<state> open{state(parts.size(), 0)};
    std::set<state> seen(open.begin(), open.end());
    while (!open.empty()) {
      state const now = open.back();
      open.pop_back();
      bool moves = false;
      for (std::size_t d = 0; d < now.size(); ++d) {
        state after = now;
        if (now[d] == end[d] || !happens(parts[d][now[d]], parts, after)) continue;
        moves = true;
        if (seen.insert(after).second) open.push_back(after);
      }
      if (!moves && now != end) return false;
    }
    return true;
  }
  bool streams_end() const {
    std::vector<int> order;
    for (int i = 0; i < static_cast<int>(p_.instructions.size()); ++i) order.push_back(i);
    return devices_end(order);
  }

 private:
  // Moves the devices on by `i` and those that meet it, if it is the turn of all of them.
  bool happens(std::size_t i, std::vector<std::vector<std::size_t>> const& parts,
               std::vector<std::size_t>& at) const {
    std::vector<std::size_t> together = meets_[i];
    opcode const code = p_.instructions[i].code;
    if ((code == opcode::send || code == opcode::receive) && together.empty()) return false;
    if (code == opcode::all_reduce
        && together.size() + 1 < all_.meeting(all_.all()[i]).size())  // somebody has none
      return false;
    together.push_back(i);
    std::sort(together.begin(), together.end());
    for (std::size_t j : together) {
      auto const d = static_cast<std::size_t>(all_.all()[j].node);
      if (at[d] == parts[d].size() || parts[d][at[d]++] != j) return false;
    }
    return true;
  }

  program const& p_;
  steps all_;
  std::vector<std::vector<std::size_t>> before_;
  std::vector<std::vector<std::size_t>> meets_;
};

// A random change of an order, if there is anything to change.
void change(std::vector<int>& order, std::mt19937& random) {
  if (order.size() < 2) return;
  auto const pick = [&] { return static_cast<std::ptrdiff_t>(random() % order.size()); };
  auto const begin = order.begin();
  std::ptrdiff_t const i = pick(), j = pick();
  switch (random() % 6) {
    case 0:
      order[static_cast<std::size_t>(i)] = order[static_cast<std::size_t>(j)];
      return;
    case 1:
      order.erase(begin + i);
      return;
    case 2:
      std::swap(begin[i], begin[j]);
      return;
    case 3:
      std::rotate(begin + std::min(i, j), begin + std::max(i, j), begin + std::max(i, j) + 1);
      return;
    default: {
      std::ptrdiff_t const k = std::max<std::ptrdiff_t>(i, 1);
      std::swap(begin[k - 1], begin[k]);
    }
  }
}

bool is_complete_and_ordered(program const& p) {
  if (!ashlar::check_well_formed(p).ok()) return false;
  ashlar::message_index index(p);
  return ashlar::check_complete(p, index).ok() && ashlar::check_ordered(p, index).ok();
}

// Small samples of every sort.
std::vector<sample> few() {
  std::vector<sample> all = samples(3, 2).take();
  std::vector<sample> some;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (i % 5 == 0 || all[i].name.find("two ways") != std::string::npos) some.push_back(all[i]);
  for (sample const& s : tied()) some.push_back(s);
  for (sample const& s : pairs()) some.push_back(s);
  std::vector<sample> const others = shared();
  for (std::size_t i = 0; i < others.size(); i += 12) some.push_back(others[i]);
  return some;
}

}  // namespace

TEST_CASE("an order is proved exactly if a thread that blocks gets through it") {
  std::mt19937 random(1);
  int through = 0, stuck = 0;
  std::set<ashlar::rule> broken;
  for (sample const& s : few()) {
    relations const r(s.made);
    std::vector<int> const good = issue_order(s.made.view());
    INFO(s.name);
    REQUIRE(r.gets_through(good));
    REQUIRE(check_issue_order(s.made.view(), ashlar::view_of(good)).ok());
    for (int n = 0; n < long_cases(80); ++n) {
      std::vector<int> order = good;
      for (int changes = 0; changes <= n % 4; ++changes) change(order, random);
      bool const right = r.gets_through(order);
      ashlar::diagnosis const d = check_issue_order(s.made.view(), ashlar::view_of(order));
      CHECK(d.ok() == right);
      if (right) CHECK(r.devices_end(order));
      broken.insert(d.broken);
      ++(right ? through : stuck);
    }
  }
  CHECK(through > 100);
  CHECK(stuck > 100);
  CHECK(broken.size() == 5);  // none, and each rule
}

TEST_CASE("the levels of progress are what happens to mutants") {
  int all = 0, by_lanes_alone = 0, none = 0;
  std::uint32_t seed = 0;
  for (sample const& s : few())
    for (int n = 0; n < long_cases(40); ++n) {
      draft d(s.made);
      d.seed(++seed);
      mutation const sorts[] = {mutation::swap_neighbours, mutation::move_within_stream,
                                mutation::reduce_earlier, mutation::swap_transfers_on_both_sides};
      for (int changes = 0; changes <= n % 3; ++changes) d.apply(sorts[(n + changes) % 4]);
      program const p = d.assemble();
      if (!is_complete_and_ordered(p)) continue;
      bool const lanes = check_progress(p.view(), progress_level::independent_lanes).ok();
      bool const streams = check_progress(p.view(), progress_level::one_order_per_device).ok();
      INFO(s.name << '\n' << written_out(p));
      CHECK(streams == relations(p).streams_end());
      CHECK((lanes || !streams));
      CHECK(check_progress(p.view(), progress_level::one_order).ok() == lanes);
      ashlar::message_index index(p);
      REQUIRE(check_complete(p, index).ok());
      CHECK(check_deadlock_free(p, index).ok() == lanes);
      if (lanes) CHECK(relations(p).gets_through(issue_order(p.view())));
      ++(streams ? all : lanes ? by_lanes_alone : none);
    }
  CHECK(all > 100);
  CHECK(by_lanes_alone > 5);
  CHECK(none > 5);
}
