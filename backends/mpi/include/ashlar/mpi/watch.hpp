// Asks the other processes when one has waited for too long.
#pragma once

#include <ashlar/core/nth.hpp>
#include <ashlar/mpi/groups.hpp>
#include <ashlar/run/device_status.hpp>

#include <mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ashlar::mpi {

inline std::string describe(program_view const& p, int process, device_status const& s) {
  return describe(p, process, s, [&p](int other) { return name_of_process(p, other); });
}

// Questions and answers between the processes, on a communicator of their own. Allocates nothing unless
// something goes wrong.
class watch {
 public:
  using clock = std::chrono::steady_clock;

  // The processes of `world` make theirs together.
  explicit watch(MPI_Comm world) : control_(communicator::copy(world)) {
    require(MPI_Comm_rank(control_, &me_));
    int size = 0;
    require(MPI_Comm_size(control_, &size));
    answers_.resize(static_cast<std::size_t>(size));
    outgoing_.resize(2 * answers_.size());  // to each a question or a failure, and an answer
    require(MPI_Recv_init(&incoming_, sizeof incoming_, MPI_BYTE, MPI_ANY_SOURCE, 0, control_, &open_));
    require(MPI_Start(&open_));
  }
  watch(watch const&) = delete;
  watch& operator=(watch const&) = delete;
  ~watch() {
    MPI_Cancel(&open_);
    MPI_Wait(&open_, MPI_STATUS_IGNORE);
    MPI_Request_free(&open_);
    for (letter& l : outgoing_)
      if (l.request != MPI_REQUEST_NULL) MPI_Request_free(&l.request);
  }

  // Reads messages that have come, and answers questions with the status of this process. At most once
  // per millisecond.
  template <class Status>
  void look(Status mine) {
    clock::time_point const now = clock::now();
    if (now - looked_ < std::chrono::milliseconds(1)) return;
    looked_ = now;
    for (int come = 0;;) {
      require(MPI_Test(&open_, &come, MPI_STATUS_IGNORE));
      if (come == 0) return;
      note const n = incoming_;
      require(MPI_Start(&open_));
      if (n.what == note::asks)
        put(outgoing_[answers_.size() + static_cast<std::size_t>(n.from)],
            {.what = note::replies, .where = mine()}, n.from);
      if (n.what == note::replies) nth(answers_, n.from) = {true, n.where};
      if (n.what == note::fails && failure_.empty()) failure_ = n.text.data();
    }
  }
  // The message of a process that has failed; empty if none has.
  std::string const& failure() const { return failure_; }

  void ask() {
    std::fill(answers_.begin(), answers_.end(), reply{});
    send_to_all({.what = note::asks});
  }
  // The time since they were asked.
  bool all_answered() const {
    return std::count_if(answers_.begin(), answers_.end(), [](reply const& a) { return a.came; }) + 1
           == static_cast<std::ptrdiff_t>(answers_.size());
  }
  bool anyone_computes() const {
    return std::any_of(answers_.begin(), answers_.end(),
                       [](reply const& a) { return a.came && a.where.what == activity::computes; });
  }
  // The time since any of those that answered has moved.
  std::chrono::milliseconds last_moved() const {
    auto least = std::chrono::milliseconds::max();
    for (reply const& a : answers_)
      if (a.came) least = std::min(least, std::chrono::milliseconds(a.where.for_ms));
    return least;
  }
  // Their answers: `; process 1 (device 1) has waited …; process 2 (device 2) does not answer`.
  std::string account(program_view const& p) const {
    std::string text;
    for (int i = 0; i < static_cast<int>(answers_.size()); ++i) {
      if (i == me_) continue;
      auto const& [came, where] = nth(answers_, i);
      text += "; " + name_of_process(p, i) + " " + (came ? describe(p, i, where) : "does not answer");
    }
    return text;
  }
  void announce(std::string const& text) {
    note n{.what = note::fails};
    std::copy_n(text.begin(), std::min(text.size(), n.text.size() - 1), n.text.begin());
    send_to_all(n);
  }

 private:
  struct reply {
    bool came = false;
    device_status where = {};
  };
  struct note {
    enum : int { asks, replies, fails } what = asks;
    int from = -1;
    device_status where = {};
    std::array<char, 2000> text{};  // cut where it does not fit
  };
  struct letter {
    note what;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  void send_to_all(note const& n) {
    for (std::size_t i = 0; i < answers_.size(); ++i)
      if (static_cast<int>(i) != me_) put(outgoing_[i], n, static_cast<int>(i));
  }
  // The last message to a process that does not read may still be on its way. Then there is no other
  // one.
  void put(letter& l, note const& n, int to) {
    int free = 1;
    if (l.request != MPI_REQUEST_NULL) require(MPI_Test(&l.request, &free, MPI_STATUS_IGNORE));
    if (free == 0) return;
    l.what = n;
    l.what.from = me_;
    require(MPI_Isend(&l.what, sizeof l.what, MPI_BYTE, to, 0, control_, &l.request));
  }

  communicator control_;
  int me_ = 0;
  note incoming_;
  MPI_Request open_ = MPI_REQUEST_NULL;
  std::vector<reply> answers_;  // by process; that of this process itself does not come
  std::vector<letter> outgoing_;
  std::string failure_;
  clock::time_point looked_{};
};

}  // namespace ashlar::mpi
