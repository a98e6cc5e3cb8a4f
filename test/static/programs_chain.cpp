// The published schedules with one stage a device, as programs.
#include <static_programs.hpp>

static_assert(holds_for_each<family::one_stage_a_device, is_program_valid>);
