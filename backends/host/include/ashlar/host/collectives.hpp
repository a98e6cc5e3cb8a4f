// Sums and gathers between the devices of all data-parallel ranks.
#pragma once

#include <ashlar/core/nth.hpp>
#include <ashlar/host/progress.hpp>
#include <ashlar/run/device_plan.hpp>
#include <ashlar/run/drive.hpp>
#include <ashlar/run/host_memory.hpp>

#include <cstddef>
#include <cstring>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <vector>

namespace ashlar::host {

// The last member to come to a collective does it for all, in the order of the members, so that the bits
// do not depend on who that is.
class collectives {
 public:
  // Joins the plans of all ranks and devices. Throws as add_elements() does.
  collectives(program_view const& p, std::vector<device_plan> const& plans)
      : ranks_(static_cast<std::size_t>(p.data_ranks)),
        count_(static_cast<std::size_t>(all_reduce_count(p))),
        groups_(count_ + count_ * ranks_ + static_cast<std::size_t>(p.device_count)) {
    for (device_plan const& plan : plans)
      for (int i = 0; i < plan.size(); ++i) {
        if (!run_detail::meets_others(plan.at(i).what)) continue;
        collective_call const& c = plan.at(i).collective();
        if (plan.at(i).what.code != opcode::all_gather) add_elements({}, {}, c.element);
        auto& group = groups_[number_of(c)];
        if (!group) group = std::make_unique<group_calls>(static_cast<std::size_t>(c.group.size));
        group->expect(c.group.member);
      }
  }

  void reset() {
    for (auto& g : groups_)
      if (g) g->reset();
  }
  // Throws std::invalid_argument for a member that its group does not have, std::length_error when
  // buffers do not agree.
  template <class Act>
  void post(collective_call const& c, posted by, Act act) {
    groups_[number_of(c)]->post(c, by, act);
  }

  // Members that have not come yet to a collective in which this instruction of `who` is posted.
  std::vector<int> missing(collective_call const& c, posted by) {
    return groups_[number_of(c)]->missing(c.group.member, by);
  }

  static void all_reduce(std::vector<collective_call> const& all) {
    buffer const sum = all[0].whole;
    for (collective_call const& c : all) {
      require(c.whole.size() == sum.size());
      if (&c != &all[0]) add_elements(sum, c.whole, c.element);
    }
    for (collective_call const& c : all)
      if (&c != &all[0]) copy(c.whole, sum);
  }
  static void all_gather(std::vector<collective_call> const& all) {
    for (collective_call const& to : all)
      for (std::size_t rank = 0; rank < all.size(); ++rank)
        copy(part_of(to, rank, all.size()), all[rank].shard);
  }
  static void reduce_scatter(std::vector<collective_call> const& all) {
    for (std::size_t rank = 0; rank < all.size(); ++rank)
      for (collective_call const& from : all) {
        require(from.whole.size() == all[0].whole.size());
        buffer const part = part_of(from, rank, all.size());
        require(part.size() == all[rank].shard.size());
        add_elements(all[rank].shard, part, from.element);
      }
  }

 private:
  // The collectives of a group in a step: each member's n-th call meets the n-th of the others.
  class group_calls {
   public:
    explicit group_calls(std::size_t members) : calls_(members, 0) {}

    void expect(int member) {
      ++calls_.at(static_cast<std::size_t>(member));
      if (nth(calls_, member) > all_.size())
        all_.push_back(
            {std::vector<collective_call>(calls_.size()), std::vector<posted>(calls_.size()), 0});
    }
    void reset() {
      calls_.assign(calls_.size(), 0);
      for (call& m : all_) m.here = 0;
    }
    template <class Act>
    void post(collective_call const& c, posted by, Act act) {
      auto const member = static_cast<std::size_t>(c.group.member);
      if (member >= calls_.size()) throw std::invalid_argument("a collective without its other members");
      std::lock_guard const lock(mutex_);
      call& m = all_[calls_[member]++];
      m.what[member] = c;
      m.by[member] = by;
      if (++m.here < calls_.size()) return;
      act(m.what);
      for (posted const& p : m.by) p.finish();
    }

    std::vector<int> missing(int member, posted by) {
      std::lock_guard const lock(mutex_);
      auto const me = static_cast<std::size_t>(member);
      std::size_t mine = 0;
      while (mine < calls_[me] && all_[mine].by[me].index != by.index) ++mine;
      std::vector<int> all;
      for (std::size_t other = 0; other < calls_.size(); ++other)
        if (calls_[other] <= mine) all.push_back(static_cast<int>(other));
      return all;
    }

   private:
    struct call {
      std::vector<collective_call> what;  // by member
      std::vector<posted> by;
      std::size_t here;
    };
    std::mutex mutex_;
    std::vector<std::size_t> calls_;  // by member
    std::vector<call> all_;
  };

  std::size_t number_of(collective_call const& c) const {
    auto const of = static_cast<std::size_t>(c.group.of), rank = static_cast<std::size_t>(c.site.rank);
    if (c.group.scope == group_scope::holders) return of;
    return c.group.scope == group_scope::holders_of_a_rank ? count_ + of * ranks_ + rank
                                                           : count_ + count_ * ranks_ + of;
  }

  static void require(bool agrees) {
    if (!agrees) throw std::length_error("the buffers of a collective have different sizes");
  }
  static buffer part_of(collective_call const& c, std::size_t rank, std::size_t ranks) {
    byte_range const part =
        shard_of(c.whole.size(), static_cast<int>(rank), static_cast<int>(ranks), c.element);
    return c.whole.subspan(part.begin, part.size);
  }
  static void copy(buffer to, buffer from) {
    require(to.size() == from.size());
    if (!to.empty()) std::memcpy(to.data(), from.data(), to.size());
  }

  std::size_t ranks_, count_;
  std::vector<std::unique_ptr<group_calls>> groups_;  // see number_of()
};

}  // namespace ashlar::host
