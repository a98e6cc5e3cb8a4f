#include "nccl_bootstrap.hpp"

#include <ashlar/cuda/frames.hpp>

#include <algorithm>
#include <cstring>
#include <deque>
#include <span>
#include <utility>

namespace nccl_substitute {
namespace {

using ashlar::cuda::tcp_socket;
using ashlar::cuda::transfer;
using ashlar::cuda::rendezvous_detail::frame_kind;
using ashlar::cuda::rendezvous_detail::inbox;
using ashlar::cuda::rendezvous_detail::text_of;
using ashlar::cuda::rendezvous_detail::view_of;
using ashlar::cuda::rendezvous_detail::wait_for_any;
using ashlar::cuda::rendezvous_detail::write_frame;

constexpr char const* here = "127.0.0.1";

struct guest {
  tcp_socket socket;
  inbox in{sizeof(rank_entry)};
};

bool introduces(guest const& g, rank_entry& e) {
  if (g.in.now() != inbox::state::complete || g.in.payload().size() != sizeof e) return false;
  std::memcpy(&e, g.in.payload().data(), sizeof e);
  return true;
}

// Calls seat(entry, socket) for each rank that comes and says the token, until it says that this was the
// last.
template <class Seat>
bool receive(tcp_socket const& listener, std::uint64_t token, std::atomic<bool> const* stop, instant end,
             Seat seat) {
  std::deque<guest> guests;
  while (ashlar::cuda::socket_clock::now() < end && (stop == nullptr || !*stop)) {
    std::vector<tcp_socket const*> all{&listener};
    for (guest const& g : guests) all.push_back(&g.socket);
    wait_for_any(all, end);
    while (tcp_socket s = ashlar::cuda::accept_from(listener)) guests.push_back({std::move(s)});
    for (guest& g : guests) {
      g.in.read(g.socket);
      if (rank_entry e; introduces(g, e) && e.token == token && seat(e, std::move(g.socket)))
        return true;
    }
    std::erase_if(guests, [](guest const& g) { return g.in.now() != inbox::state::open; });
  }
  return false;
}

std::string wrong_in(rank_entry const& e, std::vector<rank_entry> const& seated) {
  if (e.size < 1 || e.rank < 0 || e.rank >= e.size)
    return "there is no rank " + std::to_string(e.rank) + " of " + std::to_string(e.size);
  for (rank_entry const& other : seated) {
    if (e.size != other.size)
      return "rank " + std::to_string(e.rank) + " is one of " + std::to_string(e.size) + ", rank "
             + std::to_string(other.rank) + " one of " + std::to_string(other.size);
    if (e.rank == other.rank) return "rank " + std::to_string(e.rank) + " came twice";
  }
  return {};
}

}  // namespace

void serve(tcp_socket const& listener, std::uint64_t token, std::atomic<bool> const& stop, instant end) {
  std::vector<rank_entry> table;
  std::vector<tcp_socket> seated;
  std::string wrong;
  bool const complete = receive(listener, token, &stop, end, [&](rank_entry const& e, tcp_socket s) {
    wrong = wrong_in(e, table);
    seated.push_back(std::move(s));
    table.push_back(e);
    return !wrong.empty() || static_cast<int>(table.size()) == e.size;
  });
  if (!complete) return;  // they see that nobody answers
  std::sort(table.begin(), table.end(), [](auto const& a, auto const& b) { return a.rank < b.rank; });
  auto const kind = wrong.empty() ? frame_kind::welcome : frame_kind::failure;
  auto const what = wrong.empty() ? std::as_bytes(std::span(table)) : view_of(wrong);
  for (tcp_socket const& s : seated) static_cast<void>(write_frame(s, kind, what, end));
}

std::vector<rank_entry> register_with_root(int port, rank_entry const& mine, instant end) {
  inbox in(sizeof mine * 4096);
  try {
    tcp_socket const root = ashlar::cuda::connect_to(here, port, end);
    static_cast<void>(write_frame(root, frame_kind::hello, std::as_bytes(std::span(&mine, 1)), end));
    while (in.read(root) == inbox::state::open && wait_for(root, POLLIN, end)) {
    }
  } catch (ashlar::cuda::socket_error const& e) {
    throw bootstrap_failed(ncclSystemError, std::string("the root cannot be reached: ") + e.what());
  }
  if (in.now() != inbox::state::complete)
    throw bootstrap_failed(ncclSystemError, "not all ranks have come in time");
  if (in.kind() == frame_kind::failure) throw bootstrap_failed(ncclInvalidUsage, text_of(in.payload()));
  std::vector<rank_entry> table(in.payload().size() / sizeof mine);
  if (!table.empty()) std::memcpy(table.data(), in.payload().data(), table.size() * sizeof mine);
  return table;
}

std::vector<tcp_socket> connect_all(tcp_socket const& listener, std::vector<rank_entry> const& table,
                                    int rank, instant end) {
  std::vector<tcp_socket> all(table.size());
  rank_entry const& mine = table[static_cast<std::size_t>(rank)];
  std::size_t missing = table.size() - 1 - static_cast<std::size_t>(rank);
  try {
    for (int r = 0; r < rank; ++r) {
      tcp_socket s = ashlar::cuda::connect_to(here, table[static_cast<std::size_t>(r)].port, end);
      static_cast<void>(write_frame(s, frame_kind::hello, std::as_bytes(std::span(&mine, 1)), end));
      all[static_cast<std::size_t>(r)] = std::move(s);
    }
  } catch (ashlar::cuda::socket_error const& e) {
    throw bootstrap_failed(ncclSystemError, std::string("a rank cannot be reached: ") + e.what());
  }
  if (missing > 0
      && !receive(listener, mine.token, nullptr, end, [&](rank_entry const& e, tcp_socket s) {
           tcp_socket& place = all.at(static_cast<std::size_t>(e.rank));
           if (place || e.rank <= rank) return false;
           place = std::move(s);
           return --missing == 0;
         }))
    throw bootstrap_failed(ncclRemoteError, "a rank has not connected in time");
  return all;
}

}  // namespace nccl_substitute
