// The published schedules in two directions, as programs.
#include <static_programs.hpp>

static_assert(holds_for_each<family::two_ways, is_program_valid>);
