// The published schedules with V-shaped and wave placements, and their blocks.
#include <static_schedules.hpp>

static_assert(holds_for_each<family::folded, is_block_valid>);
static_assert(holds_for_each<family::folded, is_schedule_valid>);
