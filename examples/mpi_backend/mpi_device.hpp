// A backend outside Ashlar's tree: a process for each device and rank, persistent requests of MPI
// between.
#pragma once

#include <ashlar/run.hpp>
#include <ashlar/run/host_memory.hpp>

#include <mpi.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

using namespace ashlar;

// Requests end in any order: its plans are made for wait_detail::all. It computes where it is called.
class mpi_device {
 public:
  static constexpr progress_level needs = progress_level::independent_lanes;
  struct operation {  // what an instruction has posted
    MPI_Request request = MPI_REQUEST_NULL;
    std::function<void()> then;  // when it is through
  };
  struct event {
    operation* of = nullptr;  // null: of something that was done when it was recorded
  };
  using queue = event;  // what was posted last, and not yet recorded
  // Makes process rank · devices + device of `world` that device of that rank; all make theirs together.
  mpi_device(MPI_Comm world, program_view const& p, device_plan const& plan, int me)
      : queues_(static_cast<std::size_t>(plan.lane_count())),
        events_(static_cast<std::size_t>(plan.events().count())),
        posted_(static_cast<std::size_t>(plan.size())),
        groups_(static_cast<std::size_t>(all_reduce_count(p)) + 1, MPI_COMM_NULL) {
    std::vector<int> color(groups_.size(), MPI_UNDEFINED), member(groups_.size(), me);
    for (int i = 0; i < plan.size(); ++i) {
      device_plan::step const& s = plan.at(i);
      bool const sends = s.what.code == opcode::send;
      if (sends || s.what.code == opcode::receive) {
        transfer_call const& t = s.transfer();
        int const size = static_cast<int>(t.bytes.size());
        int const peer = t.site.rank * p.device_count + t.peer;
        MPI_Request& request = posted_[static_cast<std::size_t>(i)].request;
        if (sends)
          MPI_Send_init(t.bytes.data(), size, MPI_BYTE, peer, 0, world, &request);
        else
          MPI_Recv_init(t.bytes.data(), size, MPI_BYTE, peer, 0, world, &request);
      }
      if (s.what.code != opcode::all_reduce) continue;
      collective_group const& g = s.collective().group;
      bool const apart = g.scope == group_scope::holders_of_a_rank;
      color[static_cast<std::size_t>(g.of)] = apart ? s.collective().site.rank : 0;
      member[static_cast<std::size_t>(g.of)] = g.member;
    }
    color.back() = me % p.device_count;
    for (std::size_t s = 0; s < groups_.size(); ++s)
      MPI_Comm_split(world, color[s], member[s], &groups_[s]);
  }
  mpi_device(mpi_device const&) = delete;
  ~mpi_device() {
    for (operation& o : posted_)
      if (o.request != MPI_REQUEST_NULL) MPI_Request_free(&o.request);
    for (MPI_Comm& c : groups_)
      if (c != MPI_COMM_NULL) MPI_Comm_free(&c);
  }
  queue& queue_of(int lane) { return queues_[static_cast<std::size_t>(lane)]; }
  event& event_of(int n) { return events_[static_cast<std::size_t>(n)]; }
  void record(queue& q, event& e) { e.of = std::exchange(q.of, nullptr); }
  bool query(event& e) {
    int done = 1;
    if (e.of == nullptr) return true;
    MPI_Test(&e.of->request, &done, MPI_STATUS_IGNORE);
    if (done != 0 && e.of->then) std::exchange(e.of->then, nullptr)();
    return done != 0;
  }
  void wait(queue&, event& e) {
    while (!query(e)) continue;
  }
  void send(queue& q, transfer_call const& t) { MPI_Start(next(q, t.site)); }
  void receive(queue& q, transfer_call const& t) { MPI_Start(next(q, t.site)); }
  void clear(queue&, buffer b) { std::fill(b.begin(), b.end(), std::byte{0}); }
  void all_reduce(queue& q, collective_call const& c) {
    sum(q, c, groups_[static_cast<std::size_t>(c.group.of)]);
  }
  void all_gather(queue& q, collective_call const& c) {
    auto const cuts = std::make_shared<std::vector<int>>();  // sizes, then begins; until it is through
    for (int i = 0; i < 2 * c.group.size; ++i) {
      byte_range const part = shard_of(c.whole.size(), i % c.group.size, c.group.size);
      cuts->push_back(static_cast<int>(i < c.group.size ? part.size : part.begin));
    }
    MPI_Iallgatherv(c.shard.data(), static_cast<int>(c.shard.size()), MPI_BYTE, c.whole.data(),
                    cuts->data(), cuts->data() + c.group.size, MPI_BYTE, groups_.back(),
                    next(q, c.site));
    q.of->then = [cuts] {};
  }
  void reduce_scatter(queue& q, collective_call const& c) {
    sum(q, c, groups_.back());
    q.of->then = [c] {
      byte_range const part = shard_of(c.whole.size(), c.group.member, c.group.size);
      add_elements(c.shard, c.whole.subspan(part.begin, part.size), c.element);
    };
  }

 private:
  MPI_Request* next(queue& q, work_site const& at) {
    q.of = &posted_[static_cast<std::size_t>(at.index)];
    return &q.of->request;
  }
  // Sums doubles, in any order that MPI chooses.
  void sum(queue& q, collective_call const& c, MPI_Comm group) {
    auto const count = static_cast<int>(c.whole.size() / sizeof(double));
    MPI_Iallreduce(MPI_IN_PLACE, c.whole.data(), count, MPI_DOUBLE, MPI_SUM, group, next(q, c.site));
  }

  std::vector<queue> queues_;
  std::vector<event> events_;
  std::vector<operation> posted_;  // by instruction
  std::vector<MPI_Comm> groups_;   // by parameter group; the ranks of this device
};
static_assert(collective_backend<mpi_device>);
