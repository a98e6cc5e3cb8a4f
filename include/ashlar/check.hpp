// check() of every kind of value, and valid<>() for static_assert.
#pragma once

#include <ashlar/check/check.hpp>
#include <ashlar/check/valid.hpp>
