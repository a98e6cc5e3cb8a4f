// The published schedules with looped placements, as programs.
#include <static_programs.hpp>

static_assert(holds_for_each<family::looped, is_program_valid>);
