// Chimera at 8 devices and 32 micro-batches, as a program.
#include <static_programs.hpp>

static_assert(ashlar::valid<program_of<number_of("chimera"), 8, 32>>());
