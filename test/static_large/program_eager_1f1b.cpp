// Eager 1F1B at 8 devices and 32 micro-batches, as a program.
#include <static_programs.hpp>

static_assert(ashlar::valid<program_of<number_of("eager-1f1b"), 8, 32>>());
