#include "nccl_collectives.hpp"

#include "nccl_sums.hpp"

#include <array>
#include <cstring>
#include <span>

namespace nccl_substitute {
namespace {

std::size_t bytes_of(collective_description const& d) {
  return static_cast<std::size_t>(d.count) * size_of(static_cast<ncclDataType_t>(d.type));
}

// Sums elements [begin, end) of all parts into `to`.
void sum(collective_call const& c, std::size_t begin, std::size_t end, int first, std::byte* to) {
  auto const type = static_cast<ncclDataType_t>(c.what.type);
  auto const op = static_cast<ncclRedOp_t>(c.what.op);
  std::size_t const n = c.parts.size(), size = size_of(type), count = end - begin;
  if (count == 0) return;
  auto const term = [&](std::size_t i) {
    return c.parts[(static_cast<std::size_t>(first) + i) % n].data() + begin * size;
  };
  std::memcpy(to, term(0), count * size);
  for (std::size_t i = 1; i < n; ++i) combine(to, term(i), count, type, op);
  if (op == ncclAvg) divide(to, count, type, static_cast<int>(n));
}

}  // namespace

std::string to_string(collective_description const& d) {
  constexpr std::array names{"ncclBroadcast", "ncclAllReduce", "ncclAllGather", "ncclReduceScatter"};
  return std::string(names[static_cast<std::size_t>(d.kind)]) + " of " + std::to_string(d.count)
         + " elements of type " + std::to_string(d.type) + ", operation " + std::to_string(d.op)
         + ", root " + std::to_string(d.root);
}

std::span<std::byte const> part_for(collective_description const& d, std::byte const* from, int sender,
                                    int receiver) {
  std::size_t const bytes = bytes_of(d);
  switch (d.kind) {
    case collective_kind::broadcast:
      return {from, sender == d.root ? bytes : 0};
    case collective_kind::reduce_scatter:
      return {from == nullptr ? from : from + static_cast<std::size_t>(receiver) * bytes, bytes};
    default:
      return {from, bytes};
  }
}

void finish(collective_call const& c, int rank) {
  std::size_t const n = c.parts.size(), bytes = bytes_of(c.what);
  auto const count = static_cast<std::size_t>(c.what.count);
  switch (c.what.kind) {
    case collective_kind::broadcast:
      if (auto const& root = c.parts[static_cast<std::size_t>(c.what.root)]; bytes > 0)
        std::memcpy(c.to, root.data(), bytes);
      break;
    case collective_kind::all_gather:
      for (std::size_t r = 0; r < n; ++r)
        if (bytes > 0) std::memcpy(c.to + r * bytes, c.parts[r].data(), bytes);
      break;
    case collective_kind::reduce_scatter:
      sum(c, 0, count, static_cast<int>((static_cast<std::size_t>(rank) + 1) % n), c.to);
      break;
    case collective_kind::all_reduce:
      for (std::size_t chunk = 0; chunk < n; ++chunk) {
        std::size_t const begin = count * chunk / n, end = count * (chunk + 1) / n;
        sum(c, begin, end, static_cast<int>((chunk + 1) % n),
            c.to + begin * size_of(static_cast<ncclDataType_t>(c.what.type)));
      }
      break;
  }
}

void exchange::post(collective_call& c) {
  c.number = collectives_called_++;
  collectives_[c.number] = &c;
  c.parts.resize(peers_.size());
  c.left.resize(peers_.size());
  // Parts may come from ranks that have heard of all others before this one has.
  for (int r = 0; r < size(); ++r) {
    auto& part = c.parts[static_cast<std::size_t>(r)];
    part.resize(part_for(c.what, nullptr, r, rank_).size());
    if (r != rank_ && !part.empty()) ++c.left[static_cast<std::size_t>(r)];
  }
  for (int r = 0; r < size(); ++r)
    if (r != rank_)
      peers_[static_cast<std::size_t>(r)].line.put_copy(
          {.kind = wire_kind::announce, .number = c.number}, std::as_bytes(std::span(&c.what, 1)));
  start_if_agreed(c);
}

// Parts travel once all ranks are there and call the same.
void exchange::start_if_agreed(collective_call& c) {
  if (c.agreed) return;
  for (int r = 0; r < size(); ++r) {
    if (r == rank_) continue;
    auto const& announced = peers_[static_cast<std::size_t>(r)].announced;
    auto const found = announced.find(c.number);
    if (found == announced.end()) return;
    if (found->second != c.what)
      return complain(ncclInvalidUsage, "rank " + std::to_string(rank_) + " calls " + to_string(c.what)
                                            + " where rank " + std::to_string(r) + " calls "
                                            + to_string(found->second));
  }
  c.agreed = true;
  for (int r = 0; r < size(); ++r) {
    auto const mine = part_for(c.what, c.from, rank_, r);
    if (r == rank_) {
      c.parts[static_cast<std::size_t>(r)].assign(mine.begin(), mine.end());
      continue;
    }
    peer& p = peers_[static_cast<std::size_t>(r)];
    p.announced.erase(c.number);
    if (mine.empty()) continue;
    std::size_t& left = ++c.left[static_cast<std::size_t>(r)];
    p.line.put({.kind = wire_kind::part, .number = c.number, .bytes = mine.size()}, mine.data(), &left);
  }
}

}  // namespace nccl_substitute
