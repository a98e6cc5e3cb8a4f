// The published schedules with V-shaped placements and split backwards, and their blocks.
#include <static_schedules.hpp>

static_assert(holds_for_each<family::split_folded, is_block_valid>);
static_assert(holds_for_each<family::split_folded, is_schedule_valid>);
