// Values across micro-batches: how much of a batch is known when.
#pragma once

#include <ashlar/values/coverage.hpp>
