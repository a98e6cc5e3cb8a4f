// Random work at random places in any schedule.
#pragma once

#include <ashlar/core/refuse.hpp>
#include <ashlar/schedule/schedule.hpp>
#include <ashlar/schedule/tables.hpp>

#include <cstdint>
#include <random>
#include <vector>

namespace ashlar::conformance {

// Puts jobs between the passes of a valid schedule, one at a time: each part at a random place of one
// order of everything that keeps all dependencies, where it reads what comes before and is read by what
// comes after.
class random_work {
 public:
  random_work(schedule s, std::uint64_t seed, bool with_state);

  // The result is squeezed.
  schedule with_jobs(int count) &&;

 private:
  struct item {
    time_slot slot;
    int device = 0;
    bool follows = false;  // a part of a sum, in no order
    bool is_summed = false;
  };

  int below(int n) { return static_cast<int>(engine_() % static_cast<std::uint64_t>(n)); }
  int devices() const { return s_.device_count(); }

  std::vector<item>::iterator random_place();
  bool is_kept(pass what) const;
  void add_readers(pass what, int device, std::vector<item>::iterator from);

  void add_part(part_id part, int device, bool is_summed);
  // Adds a part on each device if `each_device`, to be summed.
  void add_job(int parts, bool each_device);
  void add_sum();

  schedule s_;
  std::mt19937_64 engine_;
  bool with_state_;
  std::vector<item> all_;
  std::vector<work_job> jobs_;
  std::vector<work_edge> edges_;
};

inline schedule with_random_work(schedule const& s, std::uint64_t seed, int jobs,
                                 bool with_state = true) {
  must_be(at_most(parameter::work_part_count, jobs, most_passes));
  must_have_form(s);
  return random_work(s, seed, with_state).with_jobs(jobs);
}

}  // namespace ashlar::conformance

#ifndef ASHLAR_COMPILED
#include <ashlar/conformance/random_work.ipp>
#endif
