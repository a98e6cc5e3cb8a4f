// The order that surely holds on all devices that keep to the contract.
#pragma once

#include <ashlar/core/nth.hpp>
#include <ashlar/program/event_table.hpp>
#include <ashlar/program/hazards.hpp>
#include <ashlar/program/issue_order.hpp>
#include <ashlar/run/able.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace adversary {

using namespace ashlar;

// An order of the starts and ends of all instructions of all ranks. It follows from lanes, from waits,
// and from what happens together: a receive ends after its send, a collective on no member before it has
// started on all. An overlapped pair counts as one instruction, its first.
class sure_order {
 public:
  // Takes devices whose lanes end in order or not, with the waits for those that do or do not.
  sure_order(program const& p, bool in_order, wait_detail detail)
      : p_(p), n_(p.instructions.size()), before_(2 * n_ * static_cast<std::size_t>(p.data_ranks)) {
    for (int d = 0; d < p.device_count(); ++d) events_.emplace_back(p.view(), d, detail);
    for (int rank = 0; rank < p.data_ranks; ++rank) {
      add_lanes(rank, in_order);
      add_meetings(rank);
    }
    add_waits();
    for (int d = 0; d < p.device_count(); ++d) find_hazards(d);
    std::vector<char> seen(before_.size(), 0);
    for (std::size_t node = 0; node < before_.size(); ++node) sort_from(node, seen);
  }

  // The waits of all ranks. They are numbered in the order in which one thread issues them.
  int wait_count() const { return waits_; }

  // Whether all hazards are kept, without the waits that dropped(number, instruction waited for) says.
  // Other waits, and what other devices wait for, may bring about what those are for.
  template <class Dropped>
  bool keeps_hazards(Dropped dropped) const {
    std::size_t const words = before_.size() / 64 + 1;
    std::vector<std::uint64_t> bits(words * before_.size(), 0);  // by node, what is before it
    for (std::size_t node : sorted_)
      for (link const& l : before_[node]) {
        if (l.wait >= 0 && dropped(l.wait, static_cast<int>(l.node / 2 % n_))) continue;
        for (std::size_t w = 0; w < words; ++w) bits[node * words + w] |= bits[l.node * words + w];
        bits[node * words + l.node / 64] |= std::uint64_t{1} << l.node % 64;
      }
    for (int rank = 0; rank < p_.data_ranks; ++rank)
      for (auto const& [of, on] : hazards_) {
        // A receive writes its slot when the message comes.
        bool const comes = nth(p_.instructions, of).code == opcode::receive;
        std::size_t const node = comes ? end(rank, of) : start(rank, of), other = end(rank, on);
        if ((bits[node * words + other / 64] >> other % 64 & 1) == 0) return false;
      }
    return true;
  }
  bool keeps_hazards() const {
    return keeps_hazards([](int, int) { return false; });
  }

 private:
  struct link {
    std::size_t node;
    int wait = -1;  // its number, if it is one
  };

  std::size_t start(int rank, int i) const {
    return 2 * (static_cast<std::size_t>(rank) * n_ + static_cast<std::size_t>(i));
  }
  std::size_t end(int rank, int i) const { return start(rank, i) + 1; }
  // The first of a pair.
  int unit_of(int i) const { return i > 0 && nth(p_.instructions, i - 1).overlaps_next ? i - 1 : i; }

  void add_lanes(int rank, bool in_order) {
    program_view const p = p_.view();
    for (int d = 0; d < p.device_count; ++d) {
      int const begin = nth(p.stream_begin, d);
      std::vector<int> last(static_cast<std::size_t>(p.lane_count), -1);
      for (int i = begin; i < nth(p.stream_begin, d + 1); ++i) {
        if (unit_of(i) != i) continue;
        before_[end(rank, i)].push_back({start(rank, i)});
        int const earlier = std::exchange(nth(last, nth(p.instructions, i).lane), i);
        if (earlier < 0) continue;
        // A queue does in order what it is given between two records.
        bool const has_ended = in_order || nth(events_, d).event_of(earlier - begin) < 0;
        before_[start(rank, i)].push_back({has_ended ? end(rank, earlier) : start(rank, earlier)});
      }
    }
  }

  void add_meetings(int rank) {
    program_view const p = p_.view();
    rendezvous_list const all = rendezvous_order(p);
    for (int k = 0; k < all.size(); ++k)
      for (int i : all.of(k)) {
        instruction const& self = nth(p.instructions, i);
        if (self.code == opcode::receive) before_[end(rank, i)].push_back({end(rank, all.of(k)[0])});
        if (!run_detail::meets_others(self)) continue;
        for (int other : all.of(k))
          for (int r = 0; r < p.data_ranks; ++r)
            if (r == rank || p.spans_ranks(self)) before_[end(rank, i)].push_back({start(r, other)});
      }
  }

  void add_waits() {
    program_view const p = p_.view();
    for (int i : issue_order(p)) {
      int d = 0;
      while (nth(p.stream_begin, d + 1) <= i) ++d;
      int const begin = nth(p.stream_begin, d);
      for (int rank = 0; rank < p.data_ranks; ++rank)
        for (int on : nth(events_, d).waits_of(i - begin))
          before_[start(rank, i)].push_back({end(rank, begin + on), waits_++});
    }
  }

  void find_hazards(int device) {
    wait_table const needed = ashlar::waits(p_.view(), device, wait_detail::all);
    int const begin = nth(p_.stream_begin, device);
    for (int i = begin; i < nth(p_.stream_begin, device + 1); ++i)
      for (int on : needed.of(i - begin))
        if (unit_of(i) != unit_of(begin + on)) hazards_.push_back({unit_of(i), unit_of(begin + on)});
  }

  void sort_from(std::size_t node, std::vector<char>& seen) {
    if (std::exchange(seen[node], 1) != 0) return;
    for (link const& l : before_[node]) sort_from(l.node, seen);
    sorted_.push_back(node);
  }

  program const& p_;
  std::size_t n_;
  std::vector<event_table> events_;        // by device
  std::vector<std::vector<link>> before_;  // by node
  int waits_ = 0;
  std::vector<std::pair<int, int>> hazards_;
  std::vector<std::size_t> sorted_;  // nodes, each after those before it
};

}  // namespace adversary
