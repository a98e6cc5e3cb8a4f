// Assigns layers to devices and bit widths to minimize the time of both phases together, under a memory
// limit on each device.
#pragma once

#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/plan/serving/serving.hpp>
#include <ashlar/plan/serving/serving_bounds.hpp>

#include <vector>

namespace ashlar {

// The exact search. A partial plan of the first layers on the first devices matters by three numbers:
// its sum of times and penalties, and its slowest device in each phase. A partial plan is dropped if
// another with as many layers and devices is no worse in any of them, or if with the bounds for the rest
// it exceeds `most`. Within a device this holds layer by layer, with the memory as a fourth number.
class serving_search {
 public:
  // Refers to both.
  serving_search(serving_problem const& problem, serving_bounds const& bounds)
      : problem_(problem), bounds_(bounds), p_(problem.device_count()), count_(problem.layer_count()) {}

  // The best plan whose objective is at most `most`; a plan without devices if there is none.
  serving_plan run(tick most);

 private:
  // A partial plan of finished devices, or within one device: then `slowest` are its own times.
  struct label {
    tick sum = 0;
    phase_times slowest = {0, 0};
    byte_count memory = 0;
    int step = -1;  // the last choice that led here
  };
  struct choice_made {
    int before = -1;
    int device = 0, width = 0;
  };

  static bool is_no_worse(label const& a, label const& b) {
    return a.sum <= b.sum && a.slowest.prefill <= b.slowest.prefill
           && a.slowest.decode <= b.slowest.decode && a.memory <= b.memory;
  }
  static void keep_best(dynamic_array<label>& all);

  tick objective(label const& l, serving_bound const& rest) const;
  bool may_pass(label const& l, serving_bound const& rest) const {
    return rest.is_possible() && objective(l, rest) <= most_;
  }

  // Extends plans of the devices before `device` to those that include it.
  void advance(int device);

  // Puts layers from `from` on the device, one after the other. Choices within a device do not depend on
  // the devices before it, so they are made once for all of those.
  void fill(int device, int from, dynamic_array<label> const& starts,
            std::vector<dynamic_array<label>>& next);

  // Combines a plan's part before a device with bounds after a layer, on the same device or on the next.
  static serving_bound together(serving_bound const& before, serving_bound const& here,
                                serving_bound const& there);

  void finish(dynamic_array<label> const& starts, dynamic_array<label> const& within,
              serving_bound const& rest, dynamic_array<label>& into);

  serving_plan plan_of(label const& l) const;

  struct joined {
    int before = -1;  // the label of the devices before
    int stage = -1;   // the last choice on the last of them
  };

  serving_problem const& problem_;
  serving_bounds const& bounds_;
  int p_, count_;
  tick most_ = 0;
  std::vector<dynamic_array<label>> finished_;  // by number of layers
  dynamic_array<choice_made> made_;
  dynamic_array<joined> joined_;
};

// The device that lacks memory, and how much, if nothing fits. Requires a problem that check() accepts.
serving_plan why_nothing_fits(serving_problem const& problem);

// The plan of the least objective; if nothing fits, the reason. Repeats the search with a higher `most`
// until it finds a plan: from the bound of the whole on, each time twice as far above it. Exact: a
// dropped plan exceeds `most` or is no better than a kept one. (LLM-PQ states this as an integer
// programme, section 4.2.) Throws violation with check(problem).
serving_plan plan_serving(serving_problem const& problem);

}  // namespace ashlar
