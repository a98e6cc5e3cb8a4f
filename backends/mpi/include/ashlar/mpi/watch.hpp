// What the others do, when somebody has waited for too long.
#pragma once

#include <ashlar/mpi/groups.hpp>

#include <mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ashlar::mpi {

// What a process does.
enum class activity : int { between_steps, computes, waits };

struct standing {
  activity what = activity::between_steps;
  int index = -1;         // the instruction that it computes or waits for
  int missing_count = 0;  // of processes that it waits for
  int missing = -1;       // the first of them
  std::int64_t step = 0;  // from 1
  std::int64_t for_ms = 0;
};

// `waits since 3012 ms for process 1 (device 1): receive 1F3 from device 1 (position 17 of step 4)`.
inline std::string describe(program_view const& p, int process, standing const& s) {
  std::string const since = " since " + std::to_string(s.for_ms) + " ms";
  if (s.what == activity::between_steps)
    return "has been between steps " + std::to_string(s.step) + " and " + std::to_string(s.step + 1)
           + since;
  list_view<instruction> const stream = p.stream(process % p.device_count);
  std::string text = s.what == activity::computes ? "computes" + since : "waits" + since;
  if (s.index < 0) return text + " for nothing that is under way";
  if (s.missing >= 0) text += " for " + name_of_process(p, s.missing);
  if (s.missing_count > 1) text += " and " + std::to_string(s.missing_count - 1) + " more";
  return text + ": " + to_string(stream[static_cast<std::size_t>(s.index)]) + " (position "
         + std::to_string(s.index) + " of step " + std::to_string(s.step) + ")";
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

  // Reads what has come and answers questions with what this process does. Not more often than every
  // millisecond.
  template <class Standing>
  void look(Standing mine) {
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
      if (n.what == note::replies) answers_[static_cast<std::size_t>(n.from)] = {true, n.where};
      if (n.what == note::fails && failure_.empty()) failure_ = n.text.data();
    }
  }
  // What a process that has failed says; empty: none has.
  std::string const& failure() const { return failure_; }

  struct reply {
    bool came = false;
    standing where = {};
  };
  void ask() {
    std::fill(answers_.begin(), answers_.end(), reply{});
    tell_all({.what = note::asks});
  }
  // By process, since they were asked; that of this process itself does not come.
  std::vector<reply> const& answers() const { return answers_; }
  bool all_answered() const {
    return std::count_if(answers_.begin(), answers_.end(), [](reply const& a) { return a.came; }) + 1
           == static_cast<std::ptrdiff_t>(answers_.size());
  }
  void announce(std::string const& text) {
    note n{.what = note::fails};
    std::copy_n(text.begin(), std::min(text.size(), n.text.size() - 1), n.text.begin());
    tell_all(n);
  }

 private:
  struct note {
    enum : int { asks, replies, fails } what = asks;
    int from = -1;
    standing where = {};
    std::array<char, 2000> text{};  // cut where it does not fit
  };
  struct letter {
    note what;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  void tell_all(note const& n) {
    for (std::size_t i = 0; i < answers_.size(); ++i)
      if (static_cast<int>(i) != me_) put(outgoing_[i], n, static_cast<int>(i));
  }
  // To a process that does not read, the last letter may still be on its way: then there is no other.
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
  std::vector<reply> answers_;
  std::vector<letter> outgoing_;
  std::string failure_;
  clock::time_point looked_{};
};

}  // namespace ashlar::mpi
