// The published schedules with looped placements, and their blocks.
#include <static_schedules.hpp>

static_assert(holds_for_each<family::looped, is_block_valid>);
static_assert(holds_for_each<family::looped, is_schedule_valid>);
