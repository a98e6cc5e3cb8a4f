// The passes of a step in the order of a schedule, each as early as the order and its inputs allow.
#pragma once

#include <ashlar/predict/constants.hpp>
#include <ashlar/predict/passes.hpp>
#include <ashlar/predict/question.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <vector>

namespace ashlar::predict {

// A schedule of the catalog with very many micro-batches is executed with 16 for each stage, and again
// with half as many; where its order is searched for, with 4 and 2. All further ones take as much more
// as those between: in the middle of a step, devices do the same again and again.
struct execution {
  std::vector<schedule> timed;  // none: the step has a closed form; the second has fewer micro-batches
  double further = 0;           // times that the difference of the two comes on top
  double tick = 0;              // seconds: a nanosecond, more where passes take minutes

  bool is_empty() const { return timed.empty(); }

  // Until the last pass has ended.
  double seconds() const;
  // By which a device's pairs are shorter than their passes one after the other.
  double hidden_on(int device) const;
  // Micro-batches that a device works on, by stage.
  std::vector<double> micro_batches_on(int device) const;
  // Bytes at the peak of each device, of what a stage keeps of a micro-batch until its backward has
  // ended. Between the two passes of a backward nothing goes: what the second needs, inputs and the
  // gradients of results, is as much as what the first needed (Qi et al. 2023, table 1: 32 of 34 parts).
  std::vector<double> held(std::vector<double> const& kept_by_stage) const;
};

// Forwards take what `passes` say, and so do backwards, fused or in two; pairs what pairs_of() says,
// unless sequences are in chunks. A transfer delays what waits for it, unless passes have it in them.
// Chunks of a sequence have equal parts of its passes, but later ones attend to more. Empty where the
// question has a closed form. `is_whole`: with all micro-batches, however many. Throws unpredictable,
// and violation where the catalog has no such schedule.
execution execute(question const& q, std::vector<stage> const& stages,
                  std::vector<stage_passes> const& passes, constants const& c, bool is_whole = false);

// Whether virtual stages, interleaved, differ so that no device is the slowest in every round of them: a
// round is one stage of each device. Else their step has a closed form.
bool has_uneven_rounds(question const& q, std::vector<stage_passes> const& passes);

// Passes that interleaved_seconds() executes.
double passes_of_interleaved(question const& q);

// Seconds until the last pass has ended, of virtual stages of any length, interleaved as Megatron-LM
// does with as many micro-batches in a group as devices. Transfers run beside passes. Executed with at
// most twelve groups and with eight, of which further ones take as much as those between. O(p^2 v) with
// p devices and v stages on each. Throws unpredictable.
double interleaved_seconds(question const& q, std::vector<stage_passes> const& passes);

}  // namespace ashlar::predict

#ifndef ASHLAR_COMPILED
#include <ashlar/predict/execution.ipp>
#endif
