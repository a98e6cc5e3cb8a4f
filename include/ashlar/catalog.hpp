// Every published schedule, by name.
#pragma once

#include <ashlar/catalog/entries.hpp>
#include <ashlar/catalog/published.hpp>
#include <ashlar/schedule.hpp>
