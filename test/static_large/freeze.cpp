// A program of 8 devices and 32 micro-batches, frozen.
#include <ashlar/prove/freeze.hpp>

#include <static_programs.hpp>

static_assert(ashlar::freeze<program_of<number_of("zb-h1"), 8, 32>>.view().device_count == 8);
