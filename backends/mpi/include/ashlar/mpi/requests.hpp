// Requests under way, tested together.
#pragma once

#include <ashlar/mpi/error.hpp>

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <vector>

namespace ashlar::mpi {

// Allocates when it is made and not afterwards.
class request_set {
 public:
  explicit request_set(std::size_t most) : ended_(most) {
    handles_.reserve(most);
    names_.reserve(most);
  }

  bool empty() const { return handles_.empty(); }
  // The names of the requests under way.
  std::vector<int> const& names() const { return names_; }

  // A request that has been started.
  void add(MPI_Request r, int name) {
    handles_.push_back(r);
    names_.push_back(name);
  }

  // Calls finished(name) for each request that has ended, which may add others. Says whether any has
  // ended.
  template <class Finished>
  bool test(Finished finished) {
    if (empty()) return false;
    int count = 0;
    require(MPI_Testsome(static_cast<int>(handles_.size()), handles_.data(), &count, ended_.data(),
                         MPI_STATUSES_IGNORE));
    if (count == MPI_UNDEFINED || count == 0) return false;
    auto const last = ended_.begin() + count;
    std::sort(ended_.begin(), last, std::greater<>());  // from the back, so that places stay
    for (auto at = ended_.begin(); at != last; ++at) {
      auto const place = static_cast<std::size_t>(*at);
      *at = names_[place];
      handles_[place] = handles_.back();
      names_[place] = names_.back();
      handles_.pop_back();
      names_.pop_back();
    }
    for (auto at = ended_.begin(); at != last; ++at) finished(*at);
    return true;
  }

 private:
  std::vector<MPI_Request> handles_;
  std::vector<int> names_;
  std::vector<int> ended_;
};

}  // namespace ashlar::mpi
