// ZB-H1 at 8 devices and 32 micro-batches, as a program.
#include <static_programs.hpp>

static_assert(ashlar::valid<program_of<number_of("zb-h1"), 8, 32>>());
