// From a schedule to a program.
#pragma once

#include <ashlar/lower/lower.hpp>
#include <ashlar/program.hpp>
#include <ashlar/schedule.hpp>
