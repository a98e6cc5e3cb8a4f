// A rank's end of a communicator: what was posted, and how it moves on.
#pragma once

#include "nccl_wire.hpp"

#include <nccl.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace nccl_substitute {

enum class collective_kind : std::int32_t { broadcast, all_reduce, all_gather, reduce_scatter };

// The parameters that all ranks must agree on. The count is that of the call.
struct collective_description {
  collective_kind kind{};
  std::int32_t type = 0, op = 0, root = 0;
  std::uint64_t count = 0;
  friend bool operator==(collective_description const&, collective_description const&) = default;
};
std::string to_string(collective_description const& d);

// A send or a receive between this rank and a peer.
struct transfer_call {
  int peer = 0;
  bool sends = false;
  std::byte* memory = nullptr;
  std::size_t bytes = 0;
  std::size_t left = 1;  // 0: it is over
};

struct collective_call {
  collective_description what;
  std::byte const* from = nullptr;
  std::byte* to = nullptr;
  std::uint64_t number = 0;                   // among the communicator's
  bool agreed = false;                        // all ranks have come, parts are under way
  std::vector<std::vector<std::byte>> parts;  // by rank
  std::vector<std::size_t> left;              // by rank: parts to be written and read
  bool over = false;
};

// The transfers or the collectives that move at once.
struct operation_call {
  std::string name;
  std::deque<transfer_call> transfers;
  std::deque<collective_call> collectives;
};

class exchange {
 public:
  // The wires by rank, that to itself not open.
  exchange(int rank, std::vector<wire> wires, std::size_t staging);

  // Runs until all of it is over. An operation of a communicator that has failed waits until it is
  // aborted; then its results are not a number. Throws std::runtime_error after a farewell.
  void run(operation_call& o);

  // Looks once whether a rank has gone, unless an operation is under way, which looks itself.
  void look();
  void fail(ncclResult_t error, std::string const& words);
  void abort();
  // Call it when nothing is under way any more.
  void say_farewell();

  ncclResult_t error() const { return error_.load(std::memory_order_relaxed); }
  // The reason of the failure; empty: it has not failed.
  std::string words() const;
  bool aborted() const { return aborted_.load(std::memory_order_relaxed); }

 private:
  struct offered {
    std::size_t bytes;
    bool is_staged, has_come;
    std::vector<std::byte> staged;
  };
  struct unaccepted {
    transfer_call* call;  // none: it was staged
    std::size_t bytes;
  };
  struct peer {
    wire line;
    bool said_farewell = false;
    std::deque<unaccepted> sent;
    std::deque<offered> offers;
    std::deque<transfer_call*> wanted, accepted;  // receives
    std::map<std::uint64_t, collective_description> announced;
    collective_description announcing;  // while it comes
    std::size_t staged_bytes = 0;       // on the way to it
  };

  int size() const { return static_cast<int>(peers_.size()); }
  void post(transfer_call& t);
  void post(collective_call& c);
  void move(int wait_ms);
  void gone(int rank);
  void match(int rank);
  void match_own();
  void start_if_agreed(collective_call& c);
  std::byte* begin(int rank, frame const& f);
  void end(int rank, frame const& f);
  void complain(ncclResult_t error, std::string const& words);
  bool over(operation_call& o);
  void require_present(operation_call const& o);

  int rank_;
  std::size_t staging_;
  std::mutex busy_;  // guards what follows; held by the operation that runs
  std::vector<peer> peers_;
  std::deque<transfer_call*> own_sends_;
  std::map<std::uint64_t, collective_call*> collectives_;  // under way
  std::uint64_t collectives_called_ = 0;
  bool closed_ = false;
  mutable std::mutex words_mutex_;
  std::string words_;
  std::atomic<ncclResult_t> error_{ncclSuccess};
  std::atomic<bool> aborted_{false};
};

}  // namespace nccl_substitute
