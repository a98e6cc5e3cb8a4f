// The published schedules with one stage per device and split backwards, and their blocks.
#include <static_schedules.hpp>

static_assert(holds_for_each<family::split_chain, is_block_valid>);
static_assert(holds_for_each<family::split_chain, is_schedule_valid>);
