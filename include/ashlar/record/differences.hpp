// Whether what ranks give one operation fits together.
#pragma once

#include <ashlar/record/hang_kind.hpp>
#include <ashlar/record/matched_record.hpp>

namespace ashlar::record_detail {

// Whether a send and a receive differ in bytes. Shapes and element types of equal sizes may differ: NCCL
// moves bytes.
bool differs(matched_record const& record, recorded_place one, recorded_place other);

struct record_difference {
  hang_kind kind = hang_kind::none;
  recorded_place one = {}, other = {};
};

// The first two ranks of a collective that differ, if it has not ended on all of them.
record_difference find_difference(matched_record const& record, recorded_unit const& unit);

// The unit of a record that belongs to the same collective; -1 where there is none. O(log ranks).
int unit_in(matched_record const& record, int of, recorded_unit const& unit);

// Whether a rank of the group that has no such collective in its record has come to it nevertheless, or
// could have: its record began later.
bool has_passed(matched_record const& record, int of, recorded_unit const& unit);

}  // namespace ashlar::record_detail

#ifndef ASHLAR_COMPILED
#include <ashlar/record/differences.ipp>
#endif
