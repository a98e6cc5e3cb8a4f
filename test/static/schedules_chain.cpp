// The published schedules with one stage a device, and their blocks.
#include <static_schedules.hpp>

static_assert(holds_for_each<family::one_stage_a_device, is_block_valid>);
static_assert(holds_for_each<family::one_stage_a_device, is_schedule_valid>);
