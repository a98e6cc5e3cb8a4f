// The published schedules with V-shaped and wave placements, as programs.
#include <static_programs.hpp>

static_assert(holds_for_each<family::folded, is_program_valid>);
