// Values across micro-batches: how much of a batch is known when, and work that uses it.
#pragma once

#include <ashlar/values/balance.hpp>
#include <ashlar/values/clip.hpp>
#include <ashlar/values/coverage.hpp>
