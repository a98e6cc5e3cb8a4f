// The proofs of a program, level by level.
#pragma once

#include <ashlar/program.hpp>
#include <ashlar/prove/prove.hpp>
#include <ashlar/prove/same_sums.hpp>
