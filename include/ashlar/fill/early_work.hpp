// Work that starts before its inputs are there.
#pragma once

#include <ashlar/schedule/schedule.hpp>

#include <vector>

namespace ashlar {

// Lists every part that starts before one of its inputs, each with the diagnosis of check(). Throws
// violation for errors besides times. Linear.
std::vector<diagnosis> early_work(schedule const& s);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/fill/early_work.ipp>
#endif
