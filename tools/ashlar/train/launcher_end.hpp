// Notices a launcher that stays when the processes that it has started are gone: Open MPI's may wait for
// a lock of its own for ever if a process is killed while it connects.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>

namespace tool {

// Whether a process below `ancestor` runs this program. One that has ended and was not waited for does
// not.
bool runs_below(pid_t ancestor);

// Only processes of this machine are seen: a launcher that has never had one here is waited for.
class launcher_end {
 public:
  using clock = std::chrono::steady_clock;

  launcher_end(pid_t launcher, std::chrono::milliseconds deadline)
      : launcher_(launcher), deadline_(deadline) {}

  // Whether it has had no process for so long. To be asked again and again.
  bool is_overdue();

 private:
  pid_t launcher_;
  std::chrono::milliseconds deadline_;
  clock::time_point next_look_ = clock::now();
  std::optional<clock::time_point> last_seen_;  // when a process was there
};

}  // namespace tool
