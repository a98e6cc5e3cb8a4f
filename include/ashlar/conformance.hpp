// The test kit for authors of backends.
#pragma once

#include <ashlar/conformance/conforms.hpp>
#include <ashlar/conformance/data_parallel_ranks.hpp>
#include <ashlar/conformance/network.hpp>
#include <ashlar/conformance/programs.hpp>
#include <ashlar/conformance/sharded_network.hpp>
