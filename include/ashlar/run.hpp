// What a backend and a worker offer, and the engine between them.
#pragma once

#include <ashlar/program.hpp>
#include <ashlar/run/contract.hpp>
#include <ashlar/run/device_plan.hpp>
#include <ashlar/run/drive.hpp>
#include <ashlar/run/frame.hpp>
#include <ashlar/run/host_memory.hpp>
#include <ashlar/run/sequential.hpp>
