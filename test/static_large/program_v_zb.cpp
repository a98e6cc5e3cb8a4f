// V-ZB at 8 devices and 32 micro-batches, as a program: of all published ones the nearest to the limit.
#include <static_programs.hpp>

static_assert(ashlar::valid<program_of<number_of("v-zb"), 8, 32>>());
