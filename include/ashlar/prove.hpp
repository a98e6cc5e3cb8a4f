// The proofs of a program, level by level.
#pragma once

#include <ashlar/program.hpp>
#include <ashlar/prove/for_backend.hpp>
#include <ashlar/prove/freeze.hpp>
#include <ashlar/prove/prove.hpp>
#include <ashlar/prove/proved_program.hpp>
#include <ashlar/prove/same_sums.hpp>
#include <ashlar/prove/wait_cycle.hpp>
#include <ashlar/prove/window.hpp>
