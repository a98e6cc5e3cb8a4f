// The records of all ranks side by side: which operations wait for each other.
#pragma once

#include <ashlar/core/nth.hpp>
#include <ashlar/program/program.hpp>
#include <ashlar/record/rank_record.hpp>

#include <compare>
#include <map>
#include <utility>
#include <vector>

namespace ashlar {

// An operation of a record: the index of the rank's record, and of the operation in it.
struct recorded_place {
  int record = -1;
  int operation = -1;

  friend auto operator<=>(recorded_place const&, recorded_place const&) = default;
};

// A launch: one operation, or a batch with its operations.
struct recorded_unit {
  std::vector<int> operations = {};  // indices, without the end of the batch
  int group = 0;                     // of the matched_record
  int lane = 0;                      // of the rank
  bool is_batch = false;
  bool is_transfer = false;
  long long sequence = 0;
  recorded_state state = recorded_state::unknown;
};

// A group, as all ranks know it.
struct matched_group {
  recorded_group group;
  // The record of each rank of the group: an index, or -1 where there is none.
  std::vector<int> records;
};

// Units of a lane run in the order of their issue, each when the one before has ended. As in NCCL, a
// group has one lane for collectives and batches. Single transfers have one with each peer, or use that
// of the group where its communicators were made at once.
struct matched_record {
  std::vector<rank_record> const* ranks = nullptr;
  std::vector<matched_group> groups;
  std::vector<std::vector<recorded_unit>> units;     // of each record
  std::vector<std::vector<int>> unit_of;             // of each record, by operation; -1: ends a batch
  std::vector<std::vector<std::vector<int>>> lanes;  // of each record, by lane: units in order
  // The other end of each transfer: its place; record -1 if it is not there.
  std::vector<std::vector<recorded_place>> partners;
  // Whether the other end could have been lost, or is not known: nothing is said about such a transfer.
  std::vector<std::vector<bool>> is_open;
  // Whether both ranks have all transfers from the first on, so that partners are what they seem.
  std::vector<std::vector<bool>> is_counted;
  // Units of a collective by group and sequence: (record, unit) of each rank that has it.
  std::map<std::pair<int, long long>, std::vector<std::pair<int, int>>> collectives;
  std::map<std::pair<int, int>, long long> first_collective;  // sequence, by record and group

  // The operation at a place that exists.
  recorded_operation const& at(recorded_place p) const {
    return nth(nth(*ranks, p.record).operations, p.operation);
  }
};

// Matches collectives by their sequence numbers, and transfers by their order between two ranks; where a
// ring buffer has lost operations of either rank, only those that are pending are matched. `lanes` is
// one_a_peer or one. Refers to the
// records, which are of different ranks. O(n log n).
matched_record matched(std::vector<rank_record> const& ranks,
                       transfer_lanes lanes = transfer_lanes::one_a_peer);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/record/matched_record.ipp>
#endif
