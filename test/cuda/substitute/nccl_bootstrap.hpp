// Lets the ranks of a communicator of the substitute find each other: all tell a root who they are, it
// tells all who there is, and then each connects to all others.
#pragma once

#include <ashlar/cuda/socket.hpp>

#include <nccl.h>

#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace nccl_substitute {

struct rank_entry {
  std::uint64_t token = 0;  // of the communicator that is made
  std::uint64_t host = 0;
  std::int32_t rank = 0, size = 0, device = 0;
  std::int32_t color = 0, key = 0;  // where one is split
  std::int32_t port = 0;            // that the others connect to
  std::int32_t meeting = 0;         // of rank 0: where all meet to split the communicator
};

class bootstrap_failed : public std::runtime_error {
 public:
  bootstrap_failed(ncclResult_t code, std::string const& words)
      : std::runtime_error(words), code_(code) {}
  ncclResult_t code() const { return code_; }

 private:
  ncclResult_t code_;
};

using instant = ashlar::cuda::socket_clock::time_point;

// Plays the root's part: until all ranks have come and been told, or it is too late or told to stop.
void serve(ashlar::cuda::tcp_socket const& listener, std::uint64_t token, std::atomic<bool> const& stop,
           instant end);

// Plays a rank's part; returns all entries, by rank. Throws bootstrap_failed.
std::vector<rank_entry> register_with_root(int port, rank_entry const& mine, instant end);

// Returns sockets to all ranks of the table, that to itself empty. Throws bootstrap_failed.
std::vector<ashlar::cuda::tcp_socket> connect_all(ashlar::cuda::tcp_socket const& listener,
                                                  std::vector<rank_entry> const& table, int rank,
                                                  instant end);

}  // namespace nccl_substitute
