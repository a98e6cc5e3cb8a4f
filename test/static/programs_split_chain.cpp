// The published schedules with one stage per device and split backwards, as programs.
#include <static_programs.hpp>

static_assert(holds_for_each<family::split_chain, is_program_valid>);
