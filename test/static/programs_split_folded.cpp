// The published schedules with V-shaped placements and split backwards, as programs.
#include <static_programs.hpp>

static_assert(holds_for_each<family::split_folded, is_program_valid>);
