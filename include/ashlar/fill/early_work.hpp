// Work that starts before its inputs are there.
#pragma once

#include <ashlar/schedule/schedule.hpp>

#include <vector>

namespace ashlar {

// Every part that starts before one of its inputs: for each, what check() would say of it. Throws
// violation for what is wrong besides times. Linear.
std::vector<diagnosis> early_work(schedule const& s);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/fill/early_work.ipp>
#endif
