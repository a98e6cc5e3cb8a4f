// Communicators of the substitute, and what a group gathers before it is called.
#pragma once

#include "graph.hpp"
#include "machine.hpp"
#include "nccl_bootstrap.hpp"
#include "nccl_exchange.hpp"
#include "nccl_substitute.hpp"

#include <nccl.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace nccl_substitute {

struct communicator {
  communicator(int its_rank, int its_device, std::vector<rank_entry> its_table,
               ashlar::cuda::tcp_socket its_meeting, std::vector<wire> wires, std::size_t staging)
      : rank(its_rank),
        device(its_device),
        table(std::move(its_table)),
        meeting(std::move(its_meeting)),
        traffic(its_rank, std::move(wires), staging) {}

  int size() const { return static_cast<int>(table.size()); }

  int rank, device;
  std::vector<rank_entry> table;
  ashlar::cuda::tcp_socket meeting;  // of rank 0: where the ranks meet to split it
  std::uint64_t splits = 0;
  exchange traffic;

  // The last operation called for, which the next one comes after; guarded by the machine's mutex.
  cuda_substitute::ticket_ptr last;
  std::weak_ptr<cuda_substitute::capture> captured;
  std::size_t last_node = 0;
};
using communicator_ptr = std::shared_ptr<communicator>;

settings chosen();
std::shared_ptr<std::atomic<bool>> stopped_by_reset();

// Returns the communicator; none if the handle is not alive.
communicator_ptr find(ncclComm_t handle);

// Counts a call, and makes it fail if the test chose so.
ncclResult_t injected(char const* name);
// Gives the code back; the words are for ncclGetLastError.
ncclResult_t refuse(ncclResult_t code, std::string const& words);

std::string words_of_last_refusal();

// Whether all has ended that was called for but not captured.
bool has_ended(communicator const& c);

// The actions of a call of this thread's group; all of them happen when the group ends.
struct pending_call {
  communicator_ptr comm;
  cudaStream_t stream = nullptr;
  char const* name = "";
  std::vector<transfer_call> transfer;  // one of both
  std::vector<collective_call> collective;
};
// Makes a communicator, waiting for other ranks.
struct pending_make {
  ncclComm_t* into = nullptr;
  int device = 0;
  std::function<communicator_ptr(int device)> make;
};
ncclResult_t add_to_group(pending_call call);
ncclResult_t add_to_group(pending_make call);
// An error of a call within a group ends the group.
ncclResult_t in_group(ncclResult_t code);
void forget_group();

// Makes all communicators at once, each on a thread of its own; none if one of them cannot be made.
ncclResult_t make_all(std::vector<pending_make> const& calls);

}  // namespace nccl_substitute
