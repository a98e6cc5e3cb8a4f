// A device that is a process, with persistent requests for everything that its plan sends, receives,
// sums and gathers.
#pragma once

#include <ashlar/core/nth.hpp>
#include <ashlar/mpi/groups.hpp>
#include <ashlar/mpi/requests.hpp>
#include <ashlar/mpi/sums.hpp>
#include <ashlar/run/able.hpp>
#include <ashlar/run/contributions.hpp>
#include <ashlar/run/device_plan.hpp>
#include <ashlar/run/frame.hpp>
#include <ashlar/run/host_memory.hpp>
#include <ashlar/run/instruction_time.hpp>

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <vector>

namespace ashlar::mpi {

// Passes run where the caller is. Everything else is started by its verb and moved on by turn(), which
// alone makes events happen. Requests end in any order, so plans are made for wait_detail::all.
// Collectives start one after the other, as on a lane that ends in order; those with nobody to meet
// start at once.
class device {
 public:
  // One of the lanes is for collectives.
  static constexpr progress_level needs = progress_level::independent_lanes;
  struct queue {
    static constexpr int nothing = -1;
    device* of = nullptr;
    int last = nothing;  // what was posted and has not been recorded

    // Moves on what is under way, between two tiles of a worker that computes in tiles.
    void progress() const { of->turn_now(); }
  };
  struct event {
    int of = queue::nothing;  // the instruction that it tells of; nothing: one that blocked
  };
  using clock = std::chrono::steady_clock;

  // The processes of `world` make theirs together. Messages of more than `piece` bytes are sent in
  // pieces, since MPI counts in int. The mutex is held by the caller of any function. Throws
  // std::invalid_argument for elements that cannot be summed.
  device(MPI_Comm world, program_view const& p, device_plan const& plan, int process, numerics level,
         std::size_t piece, std::mutex& mutex)
      : plan_(&plan),
        mutex_(&mutex),
        level_(level),
        piece_(piece),
        world_(communicator::copy(world)),
        groups_(world_, p, plan, process),
        queues_(static_cast<std::size_t>(plan.lane_count()), queue{this}),
        events_(static_cast<std::size_t>(plan.events().count())),
        operations_(static_cast<std::size_t>(plan.size())),
        sums_memory_(contributions::bytes(plan)),
        times_(operations_.size()) {
    fifo_.reserve(operations_.size());
    for (int i = 0; i < plan.size(); ++i) prepare(p, i, process);
    pending_ = request_set(requests_.size() + operations_.size());
  }
  device(device const&) = delete;
  device& operator=(device const&) = delete;
  ~device() {
    for (persistent& r : requests_) MPI_Request_free(&r.handle);
  }

  // Prepares a step.
  void step_begins() {
    for (operation& o : operations_) o.state = operation::to_come;
    for (queue& q : queues_) q.last = queue::nothing;
    fifo_.clear();
    next_ = 0;
    start_ = clock::now();
  }

  // Whether nothing is under way.
  bool is_idle() const { return pending_.empty(); }
  // Moves on what is under way; says whether anything has ended. Allocates nothing.
  bool turn() {
    return pending_.test([this](int name) { finish(name); });
  }

  // Takes the lock and calls turn().
  void turn_now() {
    std::lock_guard const lock(*mutex_);
    turn();
  }

  // The first instruction that was posted and has not ended; queue::nothing: none.
  int waits_for() const {
    for (std::size_t i = 0; i < operations_.size(); ++i)
      if (operations_[i].state == operation::posted) return static_cast<int>(i);
    return queue::nothing;
  }
  // The numbers of the processes whose part is missing, ascending; empty if the library does not say.
  std::vector<int> missing(int index) const {
    std::vector<int> all;
    for (int name : pending_.names())
      if (auto const at = static_cast<std::size_t>(name);
          at < requests_.size() && requests_[at].of == index)
        all.push_back(requests_[at].peer);
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }

  // Times of the last step, by instruction.
  std::vector<instruction_time> const& times() const { return times_; }
  void begins(int index) { nth(times_, index).begin = now(); }
  void ends(int index) { nth(times_, index).end = now(); }

  queue& queue_of(int lane) { return nth(queues_, lane); }
  event& event_of(int number) { return nth(events_, number); }
  void record(queue& q, event& e) {
    e.of = q.last;
    q.last = queue::nothing;
  }
  bool query(event const& e) const {
    return e.of == queue::nothing || nth(operations_, e.of).state == operation::done;
  }
  void wait(queue&, event const& e) {
    while (!query(e)) turn();
  }
  void send(queue& q, transfer_call const& t) { post(q, t.site.index); }
  void receive(queue& q, transfer_call const& t) { post(q, t.site.index); }
  void clear(queue&, buffer bytes) {
    if (!bytes.empty()) std::memset(bytes.data(), 0, bytes.size());
  }
  void offload(queue&, copy_call const& c) {
    if (!c.on_host.empty()) std::memcpy(c.on_host.data(), c.on_device.data(), c.on_host.size());
  }
  void reload(queue&, copy_call const& c) {
    if (!c.on_host.empty()) std::memcpy(c.on_device.data(), c.on_host.data(), c.on_host.size());
  }
  void all_reduce(queue& q, collective_call const& c) { post_in_order(q, c.site.index); }
  void all_gather(queue& q, collective_call const& c) {
    buffer const mine = part_of(c, c.group.member);
    if (c.shard.size() != mine.size())
      throw std::length_error("a shard of weights is not as large as its part of the whole");
    if (!mine.empty()) std::memcpy(mine.data(), c.shard.data(), mine.size());
    post_in_order(q, c.site.index);
  }
  void reduce_scatter(queue& q, collective_call const& c) { post_in_order(q, c.site.index); }

 private:
  struct persistent {
    MPI_Request handle;
    int of;    // the instruction
    int peer;  // process number
  };
  // First come the requests of its first exchange (transfers have one), then those of its second.
  struct operation {
    enum : unsigned char { to_come, posted, done } state = to_come;
    std::size_t first = 0, second = 0, end = 0;  // in requests_
    bool in_second = false;
    std::size_t left = 0;
  };
  enum class direction : unsigned char { out, in };

  bool is_left_to_library(device_plan::step const& s) const {
    return level_ == numerics::any_order && run_detail::meets_others(s.what) && sums(s.what)
           && s.collective().group.size > 1;
  }

  static bool takes_its_turn(device_plan::step const& s) {
    return run_detail::meets_others(s.what) && s.collective().group.size > 1;
  }

  void prepare(program_view const& p, int index, int process) {
    device_plan::step const& s = plan_->at(index);
    operation& o = nth(operations_, index);
    o.first = o.second = o.end = requests_.size();
    if (s.what.code == opcode::send || s.what.code == opcode::receive) {
      int const peer = number_of(p, process / p.device_count, s.transfer().peer);
      add(s.what.code == opcode::send ? direction::out : direction::in, s.transfer().bytes, world_, peer,
          peer, index);
      o.second = o.end = requests_.size();
    }
    if (!run_detail::meets_others(s.what)) return;
    collective_call const& c = s.collective();
    if (s.what.code != opcode::all_gather) add_elements({}, {}, c.element);
    if (is_left_to_library(s)) {
      check_library_sum(c);
      return;
    }
    std::vector<int> const members = members_of(p, c.group, process / p.device_count);
    auto const exchange = [&](auto out, auto in) {
      for (int m = 0; m < c.group.size; ++m)
        if (m != c.group.member) {  // parts of small values may be empty
          if (buffer const b = in(m); !b.empty())
            add(direction::in, b, groups_.of(c.group), m, nth(members, m), index);
          if (buffer const b = out(m); !b.empty())
            add(direction::out, b, groups_.of(c.group), m, nth(members, m), index);
        }
    };
    if (sums(s.what))
      exchange([&](int m) { return part_of(c, m); },
               [&](int m) { return contributions(sums_memory_.data()).of(c, m); });
    o.second = requests_.size();
    if (s.what.code != opcode::reduce_scatter)
      exchange([&](int) { return part_of(c, c.group.member); }, [&](int m) { return part_of(c, m); });
    o.end = requests_.size();
  }

  void add(direction way, buffer bytes, MPI_Comm group, int member, int process, int index) {
    for (std::size_t from = 0; from == 0 || from < bytes.size(); from += piece_) {
      buffer const some = bytes.subspan(from, std::min(piece_, bytes.size() - from));
      MPI_Request r = MPI_REQUEST_NULL;
      auto const init = way == direction::out ? send_init : receive_init;
      require(init(some.data(), static_cast<int>(some.size()), member, group, &r));
      requests_.push_back({r, index, process});
    }
  }
  static int send_init(void* data, int size, int peer, MPI_Comm group, MPI_Request* r) {
    return MPI_Send_init(data, size, MPI_BYTE, peer, 0, group, r);
  }
  static int receive_init(void* data, int size, int peer, MPI_Comm group, MPI_Request* r) {
    return MPI_Recv_init(data, size, MPI_BYTE, peer, 0, group, r);
  }

  void post(queue& q, int index) {
    q.last = index;
    nth(operations_, index).state = operation::posted;
    start_first(index);
  }
  void post_in_order(queue& q, int index) {
    if (!takes_its_turn(plan_->at(index))) return post(q, index);
    q.last = index;
    nth(operations_, index).state = operation::posted;
    fifo_.push_back(index);
    if (next_ + 1 == fifo_.size()) start_first(index);
  }

  void start_first(int index) {
    operation& o = nth(operations_, index);
    o.in_second = false;
    if (is_left_to_library(plan_->at(index))) {
      o.left = 1;
      pending_.add(start_library_sum(plan_->at(index).collective(),
                                     groups_.of(plan_->at(index).collective().group)),
                   static_cast<int>(requests_.size()) + index);
    } else {
      start(o, o.first, o.second);
    }
    if (o.left == 0) exchanged(index);
  }
  void start(operation& o, std::size_t from, std::size_t to) {
    o.left = to - from;
    for (std::size_t r = from; r < to; ++r) {
      require(MPI_Start(&requests_[r].handle));
      pending_.add(requests_[r].handle, static_cast<int>(r));
    }
  }
  // A request that has ended: its number in requests_ or, beyond these, that of the instruction.
  void finish(int name) {
    int const index = static_cast<std::size_t>(name) < requests_.size()
                          ? nth(requests_, name).of
                          : name - static_cast<int>(requests_.size());
    if (--nth(operations_, index).left == 0) exchanged(index);
  }
  void exchanged(int index) {
    operation& o = nth(operations_, index);
    bool const meets = run_detail::meets_others(plan_->at(index).what);
    if (!o.in_second) {
      o.in_second = true;
      if (meets && sums(plan_->at(index).what)) sum(plan_->at(index));
      start(o, o.second, o.end);
      if (o.left > 0) return;
    }
    o.state = operation::done;
    ends(index);
    if (takes_its_turn(plan_->at(index)) && ++next_ < fifo_.size()) start_first(fifo_[next_]);
  }

  void sum(device_plan::step const& s) {
    if (is_left_to_library(s))
      take_library_sum(s);
    else
      add_up(s, contributions(sums_memory_.data()));
  }

  std::int64_t now() const {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(clock::now() - start_).count();
  }

  device_plan const* plan_;
  std::mutex* mutex_;
  numerics level_;
  std::size_t piece_;
  communicator world_;
  group_communicators groups_;
  std::vector<queue> queues_;
  std::vector<event> events_;
  std::vector<operation> operations_;  // by instruction
  aligned_memory sums_memory_;
  std::vector<persistent> requests_;
  request_set pending_{0};
  std::vector<int> fifo_;  // the collectives of this step, as posted
  std::size_t next_ = 0;   // the one under way
  std::vector<instruction_time> times_;
  clock::time_point start_{};
};
static_assert(collective_backend<device> && offloading_backend<device>);

}  // namespace ashlar::mpi
