// What a backend and a worker offer, and the engine between them.
#pragma once

#include <ashlar/program.hpp>
#include <ashlar/run/interpreter.hpp>
#include <ashlar/run/sharing.hpp>
