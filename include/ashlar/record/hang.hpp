// Why a run that has stopped does not go on: the first operation of its record that cannot end.
#pragma once

#include <ashlar/record/hang_kind.hpp>
#include <ashlar/record/matched_record.hpp>

#include <vector>

namespace ashlar {

// An operation that waits for a rank, and what that rank does instead.
struct awaited_operation {
  recorded_place waiting = {};
  int rank = -1;  // of the world, that it waits for
  recorded_place instead =
      {};  // its operation of another kind or size, or the one in front; may be none
};

struct hang {
  hang_kind kind = hang_kind::none;
  // The operations that differ; or a chain, in which each waits for the rank of the next, the last one
  // for that of the first in a circle, and otherwise for the rank that is to blame.
  std::vector<awaited_operation> chain = {};
  // Ranks without a record whose operations others wait for, and ranks that have issued nothing more.
  std::vector<int> absent = {};
  int waiting = 0;    // lanes that cannot go on
  int under_way = 0;  // operations and batches that have not ended in the record, and could

  // True of all kinds that no later operation could mend.
  bool is_certain() const {
    return kind == hang_kind::other_kind || kind == hang_kind::other_size
           || kind == hang_kind::other_dtype || kind == hang_kind::circle;
  }
};

// Lets all lanes of all ranks run until each is stuck, where a send waits for its receive. What the
// record calls completed has ended. Names, of what is left, the operations that differ, else a circle,
// else a rank without a record, else the rank that has issued no more and waits for nothing, else a
// circle through the ends of records; among several, what was issued first. O(n log n).
//
// In the record of a run that has stopped nothing is under way. If something is, the ranks may have
// fewer lanes than `record`.
hang find_hang(matched_record const& record);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/record/hang.ipp>
#endif
