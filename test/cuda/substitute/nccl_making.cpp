// Makes communicators: from an id, from a list of devices, or by splitting one.
#include "nccl_communicator.hpp"
#include "substitute.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>
#include <utility>

namespace nccl_substitute {
namespace {

using ashlar::cuda::socket_clock;
using ashlar::cuda::tcp_socket;

// The content of an ncclUniqueId.
struct id_content {
  std::uint64_t magic = 0x73756273746e6363;
  std::uint64_t token = 0;
  std::int32_t port = 0;
};

std::uint64_t hashed(std::uint64_t x) { return cuda_substitute::random_bits(x).next(); }

std::uint64_t host_hash() {
  std::string const name = std::getenv("NCCL_HOSTID") != nullptr ? std::getenv("NCCL_HOSTID") : "";
  std::uint64_t h = 0;
  for (char c : name) h = hashed(h ^ static_cast<unsigned char>(c));
  return h;
}

tcp_socket listen_here() {
  try {
    return ashlar::cuda::listen_on("127.0.0.1", 0);
  } catch (ashlar::cuda::socket_error const& e) {
    throw bootstrap_failed(ncclSystemError, e.what());
  }
}

// Connects all ranks of the table.
communicator_ptr connected(std::vector<rank_entry> table, tcp_socket const& listener, tcp_socket meeting,
                           int rank, instant end) {
  for (std::size_t a = 0; a < table.size(); ++a)
    for (std::size_t b = 0; b < a; ++b)
      if (table[a].host == table[b].host && table[a].device == table[b].device)
        throw bootstrap_failed(ncclInvalidUsage, "Duplicate GPU detected : rank " + std::to_string(a)
                                                     + " and rank " + std::to_string(b)
                                                     + " both on CUDA device "
                                                     + std::to_string(table[a].device));
  std::vector<wire> wires;
  for (tcp_socket& s : connect_all(listener, table, rank, end)) wires.emplace_back(std::move(s));
  int const device = table[static_cast<std::size_t>(rank)].device;
  return std::make_shared<communicator>(rank, device, std::move(table), std::move(meeting),
                                        std::move(wires), chosen().staging);
}

communicator_ptr first_made(int ranks, id_content const& id, int rank, int device) {
  auto const end = socket_clock::now() + chosen().timeout;
  tcp_socket const listener = listen_here();
  tcp_socket meeting = listen_here();
  rank_entry const mine{.token = id.token,
                        .host = host_hash(),
                        .rank = rank,
                        .size = ranks,
                        .device = device,
                        .port = ashlar::cuda::port_of(listener),
                        .meeting = ashlar::cuda::port_of(meeting)};
  return connected(register_with_root(id.port, mine, end), listener, std::move(meeting), rank, end);
}

// Returns none for a rank without a colour.
communicator_ptr split_off(communicator& parent, int color, int key) {
  auto const end = socket_clock::now() + chosen().timeout;
  rank_entry mine = parent.table[static_cast<std::size_t>(parent.rank)];
  int const meet_at = parent.table[0].meeting;
  tcp_socket const listener = listen_here();
  tcp_socket meeting = listen_here();
  mine.token = hashed(mine.token + ++parent.splits);
  mine.color = color;
  mine.key = key;
  mine.port = ashlar::cuda::port_of(listener);
  mine.meeting = ashlar::cuda::port_of(meeting);
  std::atomic<bool> stop{false};
  std::thread root;
  if (parent.rank == 0) root = std::thread([&] { serve(parent.meeting, mine.token, stop, end); });
  std::vector<rank_entry> all;
  std::string wrong;
  try {
    all = register_with_root(meet_at, mine, end);
  } catch (bootstrap_failed const& e) {
    wrong = e.what();
  }
  stop = true;
  if (root.joinable()) root.join();
  if (!wrong.empty()) throw bootstrap_failed(ncclSystemError, wrong);
  if (color == NCCL_SPLIT_NOCOLOR) return nullptr;
  std::erase_if(all, [color](rank_entry const& e) { return e.color != color; });
  std::stable_sort(all.begin(), all.end(), [](auto const& a, auto const& b) { return a.key < b.key; });
  int rank = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].rank == parent.rank) rank = static_cast<int>(i);
    all[i].token = hashed(mine.token + static_cast<std::uint64_t>(color));
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].rank = static_cast<int>(i);
    all[i].size = static_cast<int>(all.size());
  }
  return connected(std::move(all), listener, std::move(meeting), rank, end);
}

bool blocks(ncclConfig_t const* config) {
  return config == nullptr
         || (config->magic == 0xcafebeef
             && (config->blocking == 1 || config->blocking == NCCL_CONFIG_UNDEF_INT));
}

ncclResult_t init(char const* name, ncclComm_t* comm, int ranks, ncclUniqueId const& id, int rank,
                  ncclConfig_t const* config) {
  if (ncclResult_t const code = injected(name); code != ncclSuccess) return in_group(code);
  id_content content;
  std::memcpy(&content, id.internal, sizeof content);
  if (comm == nullptr || ranks < 1 || rank < 0 || rank >= ranks || content.magic != id_content{}.magic)
    return in_group(refuse(ncclInvalidArgument, "no such rank, or no id"));
  if (!blocks(config)) return in_group(refuse(ncclInvalidArgument, "only communicators that block"));
  *comm = nullptr;
  return add_to_group(pending_make{
      comm, cuda_substitute::current_device(),
      [ranks, content, rank](int device) { return first_made(ranks, content, rank, device); }});
}

}  // namespace
}  // namespace nccl_substitute

using namespace nccl_substitute;

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  if (ncclResult_t const code = injected("ncclGetUniqueId"); code != ncclSuccess) return code;
  if (id == nullptr) return refuse(ncclInvalidArgument, "nowhere to put the id");
  try {
    tcp_socket listener = listen_here();
    std::random_device random;
    id_content const content{.token = (std::uint64_t{random()} << 32U) | random(),
                             .port = ashlar::cuda::port_of(listener)};
    *id = {};
    std::memcpy(id->internal, &content, sizeof content);
    auto const end = socket_clock::now() + chosen().timeout;
    std::thread([l = std::move(listener), token = content.token, stop = stopped_by_reset(), end] {
      serve(l, token, *stop, end);
    }).detach();
    return ncclSuccess;
  } catch (bootstrap_failed const& e) {
    return refuse(e.code(), e.what());
  }
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank) {
  return init("ncclCommInitRank", comm, ranks, id, rank, nullptr);
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  return init("ncclCommInitRankConfig", comm, ranks, id, rank, config);
}

ncclResult_t ncclCommInitAll(ncclComm_t* comms, int count, int const* devices) {
  if (ncclResult_t const code = injected("ncclCommInitAll"); code != ncclSuccess) return code;
  if (comms == nullptr || count < 1) return refuse(ncclInvalidArgument, "no ranks");
  ncclUniqueId id;
  if (ncclResult_t const code = ncclGetUniqueId(&id); code != ncclSuccess) return code;
  id_content content;
  std::memcpy(&content, id.internal, sizeof content);
  std::vector<pending_make> all;
  for (int r = 0; r < count; ++r) {
    comms[r] = nullptr;
    all.push_back({comms + r, devices == nullptr ? r : devices[r],
                   [=](int device) { return first_made(count, content, r, device); }});
  }
  return make_all(all);
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* made, ncclConfig_t* config) {
  if (ncclResult_t const code = injected("ncclCommSplit"); code != ncclSuccess) return in_group(code);
  communicator_ptr const parent = find(comm);
  if (!parent || made == nullptr || color < NCCL_SPLIT_NOCOLOR)
    return in_group(refuse(ncclInvalidArgument, "no communicator, or no colour"));
  if (!blocks(config)) return in_group(refuse(ncclInvalidArgument, "only communicators that block"));
  *made = nullptr;
  return add_to_group(
      pending_make{made, parent->device, [=](int) { return split_off(*parent, color, key); }});
}
