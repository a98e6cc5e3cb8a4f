// The kinds of causes of a hang.
#pragma once

#include <ashlar/core/language.hpp>

namespace ashlar {

// The cause, by what ranks did or did not issue.
enum class hang_kind {
  none,           // every operation that was issued can end
  other_kind,     // ranks are in different collectives of a group
  other_size,     // ranks give an operation different numbers of bytes or elements
  other_dtype,    // ranks give a collective different element types
  circle,         // operations that were issued wait for each other
  no_record,      // a rank without a record
  never_issued,   // a rank that waits for nothing has not issued what others wait for
  waits_in_turn,  // each rank waits in an operation that the next one has not issued
};

}  // namespace ashlar
