// The fewest events with which a device's lanes keep the waits of hazards.hpp.
#pragma once

#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/program/hazards.hpp>

#include <cstddef>

namespace ashlar {

// Whether a worker may be notified when the instruction is done: its gradient is complete then.
constexpr bool notifies_when_done(instruction const& i) {
  return sums_gradient(i) && i.lane != compute_lane;
}

// The instructions of a device's stream that have an event, and who waits for which. The waits are
// transitively reduced: no wait is for an event that must have happened anyway. An overlapped pair
// counts as one instruction, its first.
class event_table {
 public:
  // With `all`, lanes may finish out of order, so that only events say what is done; with
  // `any_pass_order`, passes may begin so, too. The cost is at worst quadratic in the distance between
  // an instruction and what it waits for.
  constexpr event_table(program_view const& p, int device,
                        wait_detail detail = wait_detail::last_of_a_lane) {
    list_view<instruction> const stream = p.stream(device);
    wait_table const hazards = waits(p, device, detail);
    std::size_t const n = stream.size();
    bool const in_order = detail == wait_detail::last_of_a_lane;
    dynamic_array<int> before(n, none);  // on its lane
    dynamic_array<int> last(static_cast<std::size_t>(p.lane_count), none);
    dynamic_array<unsigned char> mark(n, 0);
    dynamic_array<char> followed(n, 0);
    event_ = dynamic_array<int>(n, none);
    // The state of an instruction that the next one on its lane implies. A release does nothing: it is
    // over when its waits are, and they hold up its lane.
    auto const known_of = [&](int earlier) {
      bool const ends = in_order || (earlier != none && nth(stream, earlier).code == opcode::release);
      return ends ? reached : passed;
    };
    begin_.reserve(n + 1);
    for (std::size_t i = 0; i < n; ++i) {
      if (i > 0 && stream[i - 1].overlaps_next) {
        begin_.push_back(static_cast<int>(on_.size()));
        continue;
      }
      int const self = static_cast<int>(i);
      int& end = nth(last, stream[i].lane);
      bool const in_turn = detail != wait_detail::any_pass_order || stream[i].lane != compute_lane;
      if (in_turn) before[i] = end;
      end = self;
      if (before[i] != none) {
        nth(mark, before[i]) |= known_of(before[i]);
        if (known_of(before[i]) == reached) nth(followed, before[i]) = 1;
      }
      int lowest = self;
      for (int part = self; part <= self + (stream[i].overlaps_next ? 1 : 0); ++part)
        for (int other : hazards.of(part)) {
          int const first =
              other > 0 && stream[static_cast<std::size_t>(other) - 1].overlaps_next ? other - 1 : other;
          if (first == self) continue;
          nth(mark, first) |= wanted;
          lowest = first < lowest ? first : lowest;
        }
      int bottom = lowest;
      if (before[i] != none && before[i] < bottom) bottom = before[i];
      for (int j = self - 1; j >= bottom; --j) {
        auto const at = static_cast<std::size_t>(j);
        unsigned char const how = mark[at];
        mark[at] = 0;
        if (how == 0) continue;
        if ((how & wanted) != 0 && (how & reached) == 0) {
          on_.push_back(j);
          followed[at] = 1;
        }
        if (j <= lowest) continue;
        for (int k = begin_[at]; k < begin_[at + 1]; ++k) touch(mark, on_[index(k)], lowest, reached);
        touch(mark, before[at], lowest, known_of(before[at]));
      }
      begin_.push_back(static_cast<int>(on_.size()));
    }
    for (int other : on_) give_event(other);
    for (std::size_t i = 0; i < n; ++i) {
      if (i > 0 && stream[i - 1].overlaps_next) continue;
      if (followed[i] == 0) last_.push_back(static_cast<int>(i));
      // Instructions that a worker is notified of when they are done.
      bool const notifies = notifies_when_done(stream[i]);
      if (followed[i] == 0 || notifies) give_event(static_cast<int>(i));
    }
  }

  constexpr int count() const { return count_; }
  // The event of an instruction; -1 if nothing waits for it.
  constexpr int event_of(int instruction) const { return event_[index(instruction)]; }
  // The earlier instructions of the stream that one waits for.
  constexpr list_view<int> waits_of(int instruction) const {
    std::size_t const i = index(instruction);
    return {on_.data() + begin_[i], on_.data() + begin_[i + 1]};
  }
  // The step has ended when these have.
  constexpr list_view<int> last() const { return view_of(last_); }

 private:
  static constexpr int none = -1;
  static constexpr unsigned char wanted = 1;   // a hazard
  static constexpr unsigned char reached = 2;  // surely done, by other waits
  static constexpr unsigned char passed = 4;   // surely begun

  static constexpr std::size_t index(int i) { return static_cast<std::size_t>(i); }
  static constexpr void touch(dynamic_array<unsigned char>& mark, int at, int lowest,
                              unsigned char how) {
    if (at >= lowest) mark[index(at)] |= how;
  }
  constexpr void give_event(int instruction) {
    if (event_[index(instruction)] == none) event_[index(instruction)] = count_++;
  }

  dynamic_array<int> event_;                          // by instruction
  dynamic_array<int> begin_ = dynamic_array<int>(1);  // in on_, by instruction, and the end
  dynamic_array<int> on_;
  dynamic_array<int> last_;
  int count_ = 0;
};

}  // namespace ashlar
