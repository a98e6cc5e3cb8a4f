// Whether anything has moved.
#pragma once

#include <ashlar/cuda/issuer.hpp>
#include <ashlar/cuda/options.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ashlar::cuda {

// `device 1 has done 3F1 (position 17 of step 4) and not yet 5B2 (position 23 of step 4)`.
inline std::string where_stands(program_view const& p, member const& m, std::uint64_t step) {
  auto const name = [&](int i) {
    return to_string(m.plan.at(i).what) + " (position " + std::to_string(i) + " of step "
           + std::to_string(step) + ")";
  };
  int const last = m.marks.last(), next = m.marks.next();
  std::string text = name_of_device(p, m.number) + " has "
                     + (last < 0 ? "not come to its first mark" : "done " + name(last));
  if (next >= 0) text += (last < 0 ? ", " : " and not yet ") + name(next);
  if (int const issued = m.marks.issued(); issued >= 0)
    text += "; a call for its " + name(issued) + " has not returned";
  return text;
}

// Looks after a step while the host puts it on the streams, and while it waits for it.
class watch {
 public:
  using clock = std::chrono::steady_clock;

  watch(program_view const& p, std::vector<std::unique_ptr<member>> const& members, transport& between,
        std::chrono::milliseconds deadline)
      : view_(p), members_(&members), transport_(&between), deadline_(deadline) {}

  // Starts counting.
  void begins() {
    seen_ = marks();
    moved_ = next_ = clock::now();
  }

  // Throws stalled when the transport has failed, or nothing has moved for the deadline.
  void look(std::uint64_t step) {
    auto const now = clock::now();
    if (now < next_) return;
    next_ = now + std::chrono::milliseconds(10);
    if (std::string const why = transport_->failure(); !why.empty())
      throw stalled(why + "; " + where_all_stand(step));
    if (std::vector<int> here = marks(); here != seen_) {
      seen_ = std::move(here);
      moved_ = now;
    }
    if (now - moved_ >= deadline_)
      throw stalled("nothing has moved for " + std::to_string(deadline_.count()) + " ms; "
                    + where_all_stand(step));
  }

 private:
  std::vector<int> marks() const {
    std::vector<int> all;
    for (auto const& m : *members_) {
      all.push_back(m->marks.last());
      all.push_back(m->marks.issued());
    }
    return all;
  }
  std::string where_all_stand(std::uint64_t step) const {
    std::string text;
    for (auto const& m : *members_) text += (text.empty() ? "" : "; ") + where_stands(view_, *m, step);
    return text;
  }

  program_view view_;
  std::vector<std::unique_ptr<member>> const* members_;
  transport* transport_;
  std::chrono::milliseconds deadline_;
  std::vector<int> seen_;
  clock::time_point moved_, next_;
};

}  // namespace ashlar::cuda
