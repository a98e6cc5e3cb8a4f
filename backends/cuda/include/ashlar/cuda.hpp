// The algebra and the backend for GPUs: all that a trainer needs to run a schedule of its choice.
#pragma once

#include <ashlar/ashlar.hpp>
#include <ashlar/cuda/runtime.hpp>
