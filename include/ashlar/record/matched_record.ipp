// Definitions of matched_record.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/record/matched_record.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <tuple>
#include <utility>

namespace ashlar::record_detail {

class matcher {
 public:
  matcher(std::vector<rank_record> const& ranks, transfer_lanes lanes) : ranks_(ranks), lanes_(lanes) {
    to_.ranks = &ranks;
  }

  matched_record run() {
    for (std::size_t r = 0; r < ranks_.size(); ++r)
      record_of_.emplace(ranks_[r].rank, static_cast<int>(r));
    find_groups();
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      find_units(static_cast<int>(r));
      to_.partners.emplace_back(ranks_[r].operations.size());
      to_.is_open.emplace_back(ranks_[r].operations.size(), false);
      to_.is_counted.emplace_back(ranks_[r].operations.size(), false);
    }
    find_partners();
    return std::move(to_);
  }

 private:
  // Groups of one name may have different ranks: each split of a group is named alike on all ranks.
  void find_groups() {
    std::map<std::tuple<std::string, std::vector<int>>, int> known;
    // Where no rank says who is in a group, those are that have used it.
    std::map<std::string, std::vector<int>> users;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      std::vector<bool> is_used(ranks_[r].groups.size(), false);
      for (recorded_operation const& one : ranks_[r].operations) nth(is_used, one.group) = true;
      for (std::size_t g = 0; g < is_used.size(); ++g)
        if (is_used[g] && ranks_[r].groups[g].ranks.empty())
          users[ranks_[r].groups[g].name].push_back(ranks_[r].rank);
    }
    for (rank_record const& rank : ranks_) {
      std::vector<int> all;
      for (recorded_group one : rank.groups) {
        if (one.ranks.empty()) {
          one.ranks = users[one.name];
          std::sort(one.ranks.begin(), one.ranks.end());
        }
        auto const [found, is_new] =
            known.emplace(std::tuple(one.name, one.ranks), static_cast<int>(to_.groups.size()));
        if (is_new) {
          std::vector<int> records;
          for (int const member : one.ranks) {
            auto const at = record_of_.find(member);
            records.push_back(at == record_of_.end() ? -1 : at->second);
          }
          to_.groups.push_back({std::move(one), std::move(records)});
        }
        all.push_back(found->second);
      }
      group_of_.push_back(std::move(all));
    }
  }

  // NCCL runs what one communicator is given in order. gloo starts all at once; and where batches do not
  // show in the record, single transfers and those of a batch look alike.
  static bool is_in_order(recorded_operation const& one, bool is_batch) {
    if (one.backend == "gloo") return false;
    if (!one.is_transfer || is_batch) return true;
    bool const is_native = !one.inputs.sizes.empty() && !one.outputs.sizes.empty();
    return is_native || (!one.lines.empty() && !one.is_in_batch);
  }

  // "coalesced", "ALLGATHER_coalesced"; "allreduce_coalesced" is an operation.
  static bool ends_a_batch(std::string const& kind) {
    bool const is_named = !kind.empty() && kind[0] >= 'A' && kind[0] <= 'Z';
    return kind == "coalesced" || (is_named && kind.ends_with("_coalesced"));
  }

  void find_units(int r) {
    std::vector<recorded_operation> const& all = nth(ranks_, r).operations;
    std::vector<recorded_unit>& units = to_.units.emplace_back();
    std::vector<int>& unit_of = to_.unit_of.emplace_back();
    std::map<int, int> last;  // the last unit of each group
    for (std::size_t i = 0; i < all.size(); ++i) {
      recorded_operation const& one = all[i];
      int const group = nth(nth(group_of_, r), one.group);
      bool const ends_batch = ends_a_batch(one.kind);
      auto const before = last.find(group);
      bool const belongs = before != last.end() && !nth(units, before->second).is_batch
                           && nth(units, before->second).is_transfer == one.is_transfer
                           && nth(units, before->second).sequence == one.sequence;
      if (!belongs) {
        last[group] = static_cast<int>(units.size());
        units.push_back({.operations = {},
                         .group = group,
                         .is_transfer = one.is_transfer,
                         .sequence = one.sequence,
                         .state = one.state});
      }
      recorded_unit& unit = nth(units, last[group]);
      unit.state = one.state;
      if (ends_batch) {
        unit.is_batch = true;
        unit_of.push_back(-1);
      } else {
        unit.operations.push_back(static_cast<int>(i));
        unit_of.push_back(last[group]);
      }
    }
    make_lanes(r);
  }

  void make_lanes(int r) {
    std::map<std::pair<int, int>, int> lane_of;  // by group and peer
    std::vector<std::vector<int>>& lanes = to_.lanes.emplace_back();
    std::vector<recorded_unit>& units = nth(to_.units, r);
    for (std::size_t u = 0; u < units.size(); ++u) {
      recorded_unit& unit = units[u];
      if (unit.operations.empty()) {  // the end of a batch whose beginning is lost
        unit.state = recorded_state::completed;
        unit.lane = -1;
        continue;
      }
      recorded_operation const& first = nth(nth(ranks_, r).operations, unit.operations[0]);
      bool const has_own = unit.is_transfer && !unit.is_batch && lanes_ == transfer_lanes::one_a_peer;
      int const peer = has_own ? first.peer : -1;
      int lane = static_cast<int>(lanes.size());
      if (is_in_order(first, unit.is_batch))
        lane = lane_of.emplace(std::pair(unit.group, peer), lane).first->second;
      if (lane == static_cast<int>(lanes.size())) lanes.emplace_back();
      nth(lanes, lane).push_back(static_cast<int>(u));
      unit.lane = lane;
      if (unit.is_transfer) continue;
      to_.first_collective.emplace(std::pair(r, unit.group), unit.sequence);
      to_.collectives[{unit.group, unit.sequence}].emplace_back(r, static_cast<int>(u));
    }
  }

  struct channel {
    std::vector<recorded_place> sends, receives;
  };

  void find_partners() {
    std::map<std::tuple<int, int, int>, channel> channels;  // group, from, to: ranks of the world
    for (std::size_t r = 0; r < ranks_.size(); ++r)
      for (std::size_t i = 0; i < ranks_[r].operations.size(); ++i) {
        recorded_operation const& one = ranks_[r].operations[i];
        bool const is_sent = one.kind == "send" || one.kind == "recv";
        if (!is_sent && !one.is_transfer) continue;
        int const group = nth(group_of_[r], one.group);
        std::vector<int> const& members = nth(to_.groups, group).group.ranks;
        if (!is_sent || one.peer < 0 || one.peer >= static_cast<int>(members.size())) {
          to_.is_open[r][i] = true;
          continue;
        }
        int const me = ranks_[r].rank, peer = nth(members, one.peer);
        bool const sends = one.kind == "send";
        channel& to = channels[{group, sends ? me : peer, sends ? peer : me}];
        (sends ? to.sends : to.receives).push_back({static_cast<int>(r), static_cast<int>(i)});
      }
    for (auto& [key, one] : channels) {
      auto const& [group, from, to] = key;
      bool const is_whole = has_all(from) && has_all(to);
      if (!is_whole) {
        leave_pending(one.sends, record_of_.contains(to));
        leave_pending(one.receives, record_of_.contains(from));
      }
      for (std::size_t k = 0; k < std::min(one.sends.size(), one.receives.size()); ++k) {
        partner(one.sends[k]) = one.receives[k];
        partner(one.receives[k]) = one.sends[k];
        for (recorded_place const p : {one.sends[k], one.receives[k]})
          nth(nth(to_.is_counted, p.record), p.operation) = is_whole;
      }
    }
  }

  bool has_all(int rank) const {
    auto const at = record_of_.find(rank);
    return at != record_of_.end() && nth(ranks_, at->second).is_whole;
  }
  recorded_place& partner(recorded_place p) { return nth(nth(to_.partners, p.record), p.operation); }

  // Keeps those that have not ended; nothing is known of pairs of the others, nor of sizes of these.
  void leave_pending(std::vector<recorded_place>& all, bool has_other) {
    std::vector<recorded_place> pending;
    for (recorded_place const p : all) {
      int const unit = nth(nth(to_.unit_of, p.record), p.operation);
      recorded_state const state = nth(nth(to_.units, p.record), unit).state;
      if (state == recorded_state::pending) pending.push_back(p);
      // A rank that has gone on since has most likely had an answer.
      bool const has_gone_on = unit + 1 < static_cast<int>(nth(to_.units, p.record).size());
      if (state == recorded_state::unknown && (has_other || has_gone_on))
        nth(nth(to_.is_open, p.record), p.operation) = true;
    }
    all = std::move(pending);
  }

  std::vector<rank_record> const& ranks_;
  transfer_lanes lanes_;
  matched_record to_;
  std::map<int, int> record_of_;            // by rank
  std::vector<std::vector<int>> group_of_;  // of each record, by its own index
};

}  // namespace ashlar::record_detail

namespace ashlar {

ASHLAR_INLINE matched_record matched(std::vector<rank_record> const& ranks, transfer_lanes lanes) {
  return record_detail::matcher(ranks, lanes).run();
}

}  // namespace ashlar
