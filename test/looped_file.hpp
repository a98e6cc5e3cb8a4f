// A file of the form that PyTorch lowers schedules to: communication, and weights that are sharded.
#pragma once

#include <doctest/doctest.h>

#include <cstddef>
#include <string>

// Two stages a rank, looped: 0 and 2 on rank 0, 1 and 3 on rank 1; two micro-batches.
inline std::string const looped_file =
    "0UNSHARD,2UNSHARD,0F0,0SEND_F0,0F1,0SEND_F1,2RECV_F0,2F0,2RECV_F1,2SEND_F0,2F1,2SEND_F1,"
    "2RECV_B0,2I0,2RECV_B1,2SEND_B0,2W0,2B1,2SEND_B1,2REDUCE_GRAD,2RESHARD,0RECV_B0,0B0,0RECV_B1,0B1,"
    "0REDUCE_GRAD,0RESHARD\n"
    "1UNSHARD,3UNSHARD,1RECV_F0,1F0,1RECV_F1,1SEND_F0,1F1,1SEND_F1,3RECV_F0,3F0,3RECV_F1,3F1,3B0,"
    "3SEND_B0,3B1,3SEND_B1,3REDUCE_GRAD,3RESHARD,1RECV_B0,1RECV_B1,1B0,1SEND_B0,1B1,1SEND_B1,"
    "1REDUCE_GRAD,1RESHARD\n";

// Such a file with the first `from` changed.
inline std::string replaced(std::string text, std::string const& from, std::string const& to) {
  std::size_t const at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}
