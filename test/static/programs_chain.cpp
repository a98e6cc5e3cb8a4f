// The published schedules with one stage per device, as programs.
#include <static_programs.hpp>

static_assert(holds_for_each<family::chain, is_program_valid>);
