// Definitions of hang.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/record/differences.hpp>
#include <ashlar/record/hang.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

namespace ashlar::record_detail {

// The machine: every lane of every rank goes on while it can.
class lane_walk {
 public:
  explicit lane_walk(matched_record const& record) : record_(record) {
    std::size_t const count = record.units.size();
    front_.resize(count);
    is_done_.resize(count);
    ended_.resize(count);
    for (std::size_t r = 0; r < count; ++r) {
      front_[r].assign(record.lanes[r].size(), 0);
      is_done_[r].assign(record.units[r].size(), false);
      ended_[r].assign((*record.ranks)[r].operations.size(), false);
      for (std::size_t u = 0; u < record.units[r].size(); ++u)
        is_done_[r][u] = record.units[r][u].state == recorded_state::completed;
    }
    for (std::size_t r = 0; r < count; ++r)
      for (std::size_t lane = 0; lane < front_[r].size(); ++lane)
        changed_.push_back({static_cast<int>(r), static_cast<int>(lane)});
    while (!changed_.empty()) {
      auto const [r, lane] = changed_.back();
      changed_.pop_back();
      go_on(r, lane);
    }
  }

  bool is_done(int r, int u) const { return nth(nth(is_done_, r), u); }
  // Whether the operations before it on its lane have ended.
  bool has_come(int r, int u) const {
    if (is_done(r, u)) return true;
    recorded_unit const& unit = nth(nth(record_.units, r), u);
    std::vector<int> const& lane = nth(nth(record_.lanes, r), unit.lane);
    std::size_t const at = nth(nth(front_, r), unit.lane);
    return at < lane.size() && lane[at] == u;
  }
  int front_of(int r, int lane) const {
    return nth(nth(record_.lanes, r), lane)[nth(nth(front_, r), lane)];
  }
  bool is_at_end(int r, int lane) const {
    return nth(nth(front_, r), lane) == nth(nth(record_.lanes, r), lane).size();
  }
  bool has_ended(recorded_place p) const {
    return nth(nth(ended_, p.record), p.operation)
           || is_done(p.record, nth(nth(record_.unit_of, p.record), p.operation));
  }

 private:
  void go_on(int r, int lane) {
    std::vector<int> const& units = nth(nth(record_.lanes, r), lane);
    std::size_t& at = nth(nth(front_, r), lane);
    while (at < units.size()) {
      int const u = units[at];
      if (!is_done(r, u)) tried(r, u);
      if (!is_done(r, u)) return;
      ++at;
    }
  }

  void tried(int r, int u) {
    recorded_unit const& unit = nth(nth(record_.units, r), u);
    if (!unit.is_transfer) {
      if (!can_meet(unit)) return;
      for (auto const& [other, v] : record_.collectives.at({unit.group, unit.sequence}))
        finish(other, v);
      return;
    }
    bool all = true;
    for (int const i : unit.operations) {
      recorded_place const here{r, i};
      if (!has_ended(here) && nth(nth(record_.is_open, r), i)) nth(nth(ended_, r), i) = true;
      if (!has_ended(here)) {
        recorded_place const there = nth(nth(record_.partners, r), i);
        if (there.record >= 0) {
          int const v = nth(nth(record_.unit_of, there.record), there.operation);
          if (has_come(there.record, v) && !differs(record_, here, there)) {
            nth(nth(ended_, r), i) = true;
            nth(nth(ended_, there.record), there.operation) = true;
            changed_.push_back({there.record, nth(nth(record_.units, there.record), v).lane});
          }
        }
      }
      all = all && has_ended(here);
    }
    if (all) finish(r, u);
  }

  void finish(int r, int u) {
    nth(nth(is_done_, r), u) = true;
    int const lane = nth(nth(record_.units, r), u).lane;
    if (lane >= 0) changed_.push_back({r, lane});
  }

  bool can_meet(recorded_unit const& unit) const {
    auto const& there = record_.collectives.at({unit.group, unit.sequence});
    for (auto const& [r, u] : there)
      if (!has_come(r, u)) return false;
    for (int const member : nth(record_.groups, unit.group).records)
      if (!has_passed(record_, member, unit)) return false;
    return find_difference(record_, unit).kind == hang_kind::none;
  }

  matched_record const& record_;
  std::vector<std::vector<std::size_t>> front_;  // of each record and lane
  std::vector<std::vector<bool>> is_done_;       // of each record and unit
  std::vector<std::vector<bool>> ended_;         // of each record and operation
  std::vector<std::pair<int, int>> changed_;
};

class hang_finder {
 public:
  explicit hang_finder(matched_record const& record) : record_(record), walk_(record) {}

  hang run() {
    find_fronts();
    if (fronts_.empty()) return {.under_way = under_way()};
    hang found = difference();
    if (found.kind == hang_kind::none) found = circle();
    if (found.kind == hang_kind::none) found = end();
    found.waiting = static_cast<int>(fronts_.size());
    found.under_way = under_way();
    return found;
  }

 private:
  using place = std::pair<int, int>;  // record and unit

  std::int64_t created(place p) const { return record_.at({p.first, unit(p).operations[0]}).created_ns; }
  recorded_unit const& unit(place p) const { return nth(nth(record_.units, p.first), p.second); }

  int under_way() const {
    int count = 0;
    for (std::size_t r = 0; r < record_.units.size(); ++r)
      for (std::size_t u = 0; u < record_.units[r].size(); ++u)
        if (record_.units[r][u].state == recorded_state::pending
            && walk_.is_done(static_cast<int>(r), static_cast<int>(u)))
          ++count;
    return count;
  }

  void find_fronts() {
    for (std::size_t r = 0; r < record_.lanes.size(); ++r)
      for (std::size_t lane = 0; lane < record_.lanes[r].size(); ++lane)
        if (int const of = static_cast<int>(r), at = static_cast<int>(lane); !walk_.is_at_end(of, at))
          fronts_.emplace_back(of, walk_.front_of(of, at));
    std::stable_sort(fronts_.begin(), fronts_.end(),
                     [&](place a, place b) { return created(a) < created(b); });
  }

  // A front waits for this: a rank, and the unit that it has to issue or to come to, if there is one.
  struct wait {
    int operation = -1;  // of the front
    int rank = -1;
    int record = -1;  // of that rank; -1: it has none
    int unit = -1;    // that has not come; -1: it was not issued
  };
  std::vector<wait> waits_of(place p) const {
    std::vector<wait> all;
    recorded_unit const& here = unit(p);
    if (!here.is_transfer) {
      matched_group const& group = nth(record_.groups, here.group);
      for (std::size_t m = 0; m < group.records.size(); ++m) {
        int const other = group.records[m];
        int const found = other < 0 ? -1 : unit_in(record_, other, here);
        if (found < 0 ? has_passed(record_, other, here) : walk_.has_come(other, found)) continue;
        all.push_back({here.operations[0], group.group.ranks[m], other, found});
      }
      return all;
    }
    for (int const i : here.operations) {
      recorded_place const at{p.first, i};
      if (walk_.has_ended(at)) continue;
      recorded_place const there = nth(nth(record_.partners, at.record), i);
      matched_group const& group = nth(record_.groups, here.group);
      int const peer = record_.at(at).peer;
      all.push_back({i, nth(group.group.ranks, peer), nth(group.records, peer),
                     there.record < 0 ? -1 : nth(nth(record_.unit_of, there.record), there.operation)});
    }
    return all;
  }

  hang difference() const {
    for (place const& p : fronts_) {
      recorded_unit const& here = unit(p);
      if (!here.is_transfer) {
        // Ranks that have not come to it are compared, too: they never can meet.
        record_difference const found = find_difference(record_, here);
        if (found.kind != hang_kind::none) return differing(found);
        continue;
      }
      for (int const i : here.operations) {
        recorded_place const at{p.first, i}, there = nth(nth(record_.partners, p.first), i);
        if (walk_.has_ended(at) || there.record < 0 || !differs(record_, at, there)) continue;
        return differing({hang_kind::other_size, at, there});
      }
    }
    return {};
  }
  hang differing(record_difference const& d) const {
    int const first = nth(*record_.ranks, d.one.record).rank,
              other = nth(*record_.ranks, d.other.record).rank;
    return {.kind = d.kind, .chain = {{d.one, other, d.other}, {d.other, first, d.one}}};
  }

  // A circle of operations that all were issued: each front waits for one behind another front.
  hang circle() const {
    std::map<place, int> state;  // 1: on the path, 2: leads nowhere
    std::vector<std::pair<place, awaited_operation>> path;
    hang found;
    for (place const& p : fronts_)
      if (follow(p, state, path, found)) return found;
    return {};
  }
  bool follow(place from, std::map<place, int>& state,
              std::vector<std::pair<place, awaited_operation>>& path, hang& found) const {
    struct step {
      place at;
      std::vector<wait> waits;
      std::size_t next = 0;
    };
    if (state.contains(from)) return false;
    std::vector<step> open{{from, waits_of(from)}};
    state[from] = 1;
    path.clear();
    while (!open.empty()) {
      step& top = open.back();
      if (top.next == top.waits.size()) {
        state[top.at] = 2;
        open.pop_back();
        if (!path.empty()) path.pop_back();
        continue;
      }
      wait const w = top.waits[top.next++];
      if (w.record < 0 || w.unit < 0) continue;
      place const next{w.record, walk_.front_of(w.record, unit({w.record, w.unit}).lane)};
      awaited_operation const link{
          {top.at.first, w.operation}, w.rank, {next.first, unit(next).operations[0]}};
      if (auto const at = state.find(next); at != state.end()) {
        if (at->second == 2) continue;
        path.emplace_back(top.at, link);
        auto const begin =
            std::find_if(path.begin(), path.end(), [&](auto const& one) { return one.first == next; });
        found.kind = hang_kind::circle;
        for (auto one = begin; one != path.end(); ++one) found.chain.push_back(one->second);
        return true;
      }
      path.emplace_back(top.at, link);
      state[next] = 1;
      open.push_back({next, waits_of(next)});
    }
    return false;
  }

  // Nothing differs: a rank has not issued what others wait for.
  hang end() const {
    // The last front of each record is where its program most likely waits.
    std::map<int, place> last;
    for (place const& p : fronts_) {
      auto const [at, is_new] = last.emplace(p.first, p);
      if (!is_new && p.second > at->second.second) at->second = p;
    }
    hang absent{.kind = hang_kind::no_record}, idle{.kind = hang_kind::never_issued};
    for (place const& p : fronts_)
      for (wait const& w : waits_of(p)) {
        if (w.unit >= 0) continue;
        hang& to = w.record < 0 ? absent : idle;
        if (w.record >= 0 && last.contains(w.record)) continue;
        if (std::find(to.absent.begin(), to.absent.end(), w.rank) != to.absent.end()) continue;
        to.absent.push_back(w.rank);
        if (to.chain.empty()) to.chain.push_back({{p.first, w.operation}, w.rank, last_of(w.record)});
      }
    if (!absent.absent.empty()) return absent;
    if (!idle.absent.empty()) return idle;
    return in_turn(last);
  }
  recorded_place last_of(int record) const {
    if (record < 0 || nth(*record_.ranks, record).operations.empty()) return {};
    return {record, static_cast<int>(nth(*record_.ranks, record).operations.size()) - 1};
  }

  hang in_turn(std::map<int, place> const& last) const {
    hang found{.kind = hang_kind::waits_in_turn};
    std::vector<place> seen;
    place at = fronts_.front();
    for (;;) {
      auto const again = std::find(seen.begin(), seen.end(), at);
      if (again != seen.end()) {
        found.chain.erase(found.chain.begin(), found.chain.begin() + (again - seen.begin()));
        return found;
      }
      seen.push_back(at);
      std::vector<wait> const waits = waits_of(at);
      auto const w = std::find_if(waits.begin(), waits.end(), [&](wait const& one) {
        return one.record >= 0 && (one.unit >= 0 || last.contains(one.record));
      });
      if (w == waits.end()) return found;
      place const next =
          w->unit >= 0 ? place{w->record, walk_.front_of(w->record, unit({w->record, w->unit}).lane)}
                       : last.at(w->record);
      found.chain.push_back({{at.first, w->operation}, w->rank, {next.first, unit(next).operations[0]}});
      at = next;
    }
  }

  matched_record const& record_;
  lane_walk walk_;
  std::vector<place> fronts_;
};

}  // namespace ashlar::record_detail

namespace ashlar {

ASHLAR_INLINE hang find_hang(matched_record const& record) {
  return record_detail::hang_finder(record).run();
}

}  // namespace ashlar
