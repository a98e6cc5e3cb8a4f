// Records of the communication of ranks, and why a run does not go on.
#pragma once

#include <ashlar/record/hang.hpp>
#include <ashlar/record/passes.hpp>
