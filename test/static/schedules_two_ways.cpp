// The published schedules in two directions, and their blocks.
#include <static_schedules.hpp>

static_assert(holds_for_each<family::two_ways, is_block_valid>);
static_assert(holds_for_each<family::two_ways, is_schedule_valid>);
