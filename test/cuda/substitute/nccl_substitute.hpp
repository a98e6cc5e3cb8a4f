// Settings by which a test steers the substitute of NCCL, and questions to it.
#pragma once

#include <nccl.h>

#include <chrono>
#include <cstddef>

namespace nccl_substitute {

struct settings {
  // The bytes of all sends from one rank to another that may end before their receives are there, as
  // NCCL's buffers let small ones do. None: every send waits for its receive.
  std::size_t staging = 0;
  // Whether calls return when their operations have ended, as NCCL's first ones between two ranks do,
  // which connect them; not those that are captured.
  bool calls_wait = false;
  // The time that ranks wait for each other when a communicator is made, and for operations when one is
  // destroyed.
  std::chrono::milliseconds timeout{30'000};
};

// Gives up communicators and ids that are left over in this process, as if it were new.
void reset(settings const& chosen = {});

std::size_t live_communicators();

// Acts as if the library had noticed it. Does nothing to an invalid handle.
void notice(ncclComm_t comm, ncclResult_t error);

}  // namespace nccl_substitute
