// The interfaces of a backend and a worker, and the engine between them. The sequential reference,
// memory of the host, and the identities that processes compare have includes of their own:
// run/sequential.hpp, run/host_memory.hpp, run/identity.hpp; so has the program that a backend is given,
// run/program_source.hpp.
#pragma once

#include <ashlar/program.hpp>
#include <ashlar/run/able.hpp>
#include <ashlar/run/contract.hpp>
#include <ashlar/run/contributions.hpp>
#include <ashlar/run/device_plan.hpp>
#include <ashlar/run/device_status.hpp>
#include <ashlar/run/drive.hpp>
#include <ashlar/run/failures.hpp>
#include <ashlar/run/frame.hpp>
#include <ashlar/run/instruction_time.hpp>
#include <ashlar/run/members.hpp>
#include <ashlar/run/poll.hpp>
