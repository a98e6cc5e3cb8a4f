// When values are copied to the host and back in.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/moved_times.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/sort.hpp>
#include <ashlar/core/ticks.hpp>
#include <ashlar/schedule/check.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

// The values that leave for the host between forward and recompute or backward, and how long that takes.
// (The idea, and its choice of values: Wan, Qi, Huang, Lin, PipeOffload, 2025.)
struct offload_options {
  std::vector<pass> forwards = {};  // their values leave: a stash, or a checkpoint
  // Ticks to copy the values of a stage, one way: one for all stages, or one each; none: no time. They
  // decide only where copies stand.
  std::vector<tick> copy = {};

  // The ticks of this stage.
  constexpr tick copy_of(int stage) const {
    if (copy.empty()) return 0;
    return copy[copy.size() == 1 ? 0 : static_cast<std::size_t>(stage)];
  }

  friend constexpr bool operator==(offload_options const&, offload_options const&) = default;
};

// A value that is on the host for a while. Each copy takes `copy` ticks.
struct absence {
  pass forward;            // that keeps it
  tick made;               // end of the forward
  std::size_t reader = 0;  // the slot of the first pass that reads it, in its device's order,
  tick needed;             // and its start
  tick copy;
  tick out = 0;  // start of the copy to the host
  tick in = 0;   // and of that back

  constexpr tick gone() const { return saturating_sum(out, copy); }
  constexpr tick back() const { return saturating_sum(in, copy); }
  // Whether nothing waits for it.
  constexpr bool is_in_time() const { return back() <= needed; }
};

// Sets the times of the copies of one device, which has a lane for each direction. The value made first
// leaves first, as soon as it can. The value needed first comes back first, as late as it can: it takes
// no memory before. Sorts by need. O(n log n).
constexpr void place_copies(dynamic_array<absence>& all) {
  merge_sort(all, [](absence const& a, absence const& b) { return a.made < b.made; });
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i].out = i == 0 ? all[i].made : max_of(all[i].made, all[i - 1].gone());
  merge_sort(all, [](absence const& a, absence const& b) { return a.needed < b.needed; });
  for (std::size_t i = all.size(); i-- > 0;)
    all[i].in = max_of(
        (i + 1 == all.size() ? all[i].needed : min_of(all[i].needed, all[i + 1].in)) - all[i].copy,
        -max_tick);
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].in = max_of(all[i].in, all[i].gone());
    if (i > 0) all[i].in = max_of(all[i].in, all[i - 1].back());
  }
}

// Broken rules: rule::no_duration_is_negative, rule::ticks_fit, rule::tables_agree for copies;
// rule::every_pass_is_known and rule::no_pass_is_doubled for offloaded values;
// rule::inference_goes_forward_only, and rule::what_leaves_comes_back for values that work reads. The
// schedule passes check_form(). O(n log n).
constexpr diagnosis check(offload_options const& o, schedule const& s) {
  for (tick copy : o.copy) {
    if (copy < 0)
      return {
          .broken = rule::no_duration_is_negative, .first = {.code = opcode::offload}, .number = copy};
    if (copy >= max_tick / (4 * static_cast<tick>(o.forwards.size() + 1)))
      return {.broken = rule::ticks_fit, .number = copy};
  }
  if (o.copy.size() > 1 && static_cast<int>(o.copy.size()) != s.stage_count())
    return wrong_size(table::copies_of_stages, o.copy.size(), s.stage_count());
  dynamic_array<keyed_index> seen;
  for (std::size_t i = 0; i < o.forwards.size(); ++i) {
    pass const& what = o.forwards[i];
    site const where{.code = opcode::offload, .what = what};
    if (what.kind != pass_kind::forward || !s.knows(what))
      return {.broken = rule::every_pass_is_known, .first = where};
    if (s.mode == execution_mode::inference)
      return {.broken = rule::inference_goes_forward_only, .first = where};
    if (!s.work.empty() && s.work.view().readers(what).size() > 0)
      return {.broken = rule::what_leaves_comes_back,
              .first = where,
              .second = {.what = s.work.view().readers(what)[0].to}};
    seen.push_back({tick{what.stage} * s.micro_batch_count() + what.micro_batch, i});
  }
  sort_by_key(seen);
  for (std::size_t i = 1; i < seen.size(); ++i)
    if (seen[i].key == seen[i - 1].key) {
      site const twice{.code = opcode::offload, .what = o.forwards[seen[i].index]};
      return {.broken = rule::no_pass_is_doubled, .first = twice, .second = twice};
    }
  return {};
}

// An instruction that copies, from its start to its end in the schedule's ticks.
struct host_copy {
  opcode code;
  pass what;
  tick start;
  tick end;
};

// The copies of a schedule by device, in the order of the streams: each after its forward and before the
// first pass that reads the value, even if the links are too slow for that.
class host_copies {
 public:
  constexpr host_copies() = default;
  // Takes `ends` as check_passes(s) fills it; check(o, s) must be right.
  constexpr host_copies(schedule const& s, pass_ends const& ends, offload_options const& o) {
    if (o.forwards.empty()) return;
    absent_ = std::vector<dynamic_array<absence>>(static_cast<std::size_t>(s.device_count()));
    dynamic_array<char> leaves(static_cast<std::size_t>(s.stage_count()) * s.route.size(), 0);
    auto const number = [&](pass const& what) {
      return static_cast<std::size_t>(what.stage) * s.route.size()
             + static_cast<std::size_t>(what.micro_batch);
    };
    for (pass const& what : o.forwards) leaves[number(what)] = 1;
    for (std::size_t d = 0; d < s.order.size(); ++d) {
      for (timed_pass const t : each_pass(s.order[d])) {
        pass const forward{pass_kind::forward, t.what.stage, t.what.micro_batch};
        if (is_part(t.what) || t.what.kind == pass_kind::forward || leaves[number(forward)] == 0)
          continue;
        leaves[number(forward)] = 0;  // no later pass is the first that reads it
        absent_[d].push_back({.forward = forward,
                              .made = ends.of(forward),
                              .reader = static_cast<std::size_t>(t.slot - s.order[d].data()),
                              .needed = t.start,
                              .copy = o.copy_of(forward.stage)});
      }
      place_copies(absent_[d]);
    }
  }

  constexpr bool empty() const { return absent_.empty(); }
  // Whether no pass waits for a copy.
  constexpr bool are_in_time() const {
    for (dynamic_array<absence> const& of_device : absent_)
      for (absence const& a : of_device)
        if (!a.is_in_time()) return false;
    return true;
  }

  // Moves copies to other times of the same orders: a copy stands where it stood among the passes.
  constexpr void move_to(schedule const& from, schedule const& to, pass_ends const& ends) {
    for (std::size_t d = 0; d < absent_.size(); ++d) {
      std::vector<time_slot> const &old = from.order[d], &now = to.order[d];
      auto const moved = [&](tick time) {
        std::size_t at = 0;
        while (at < old.size() && old[at].start < time) ++at;
        return at < now.size() ? now[at].start : ends.of(now.back().what);
      };
      for (absence& a : absent_[d]) {
        tick const gone = moved(a.gone()), in = moved(a.in);
        a.made = ends.of(a.forward);
        a.needed = now[a.reader].start;
        a.out = max_of(moved(a.out), a.made);
        a.copy = gone - a.out;  // what stood behind the forward still does
        a.in = in;
      }
    }
  }

  // The copies of one device.
  constexpr dynamic_array<host_copy> of(int device) const {
    dynamic_array<host_copy> all;
    if (empty()) return all;
    for (absence const& a : nth(absent_, device)) {
      tick const out = min_of(a.out, a.needed), in = min_of(max_of(a.in, out), a.needed);
      all.push_back({opcode::offload, a.forward, out, max_of(a.gone(), out)});
      all.push_back({opcode::reload, a.forward, in, max_of(a.back(), in)});
    }
    // Puts an offload before the reload of the same moment: it may be that of the same value.
    merge_sort(all, [](host_copy const& a, host_copy const& b) {
      return a.start != b.start ? a.start < b.start : a.code < b.code;
    });
    return all;
  }

 private:
  std::vector<dynamic_array<absence>> absent_;  // by device; empty: nothing leaves
};

}  // namespace ashlar
