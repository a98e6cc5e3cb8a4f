// The published schedules with one stage per device, and their blocks.
#include <static_schedules.hpp>

static_assert(holds_for_each<family::chain, is_block_valid>);
static_assert(holds_for_each<family::chain, is_schedule_valid>);
