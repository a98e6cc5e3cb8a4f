// From a question to a plan: what to choose under limits on memory.
#pragma once

#include <ashlar/plan/choose.hpp>
#include <ashlar/plan/divide.hpp>
#include <ashlar/plan/variants.hpp>
