// The passes of a step in a schedule's order, each as early as the order and its inputs allow; with
// lanes, as its program runs on them.
#pragma once

#include <ashlar/cost/question/question.hpp>
#include <ashlar/cost/step/constants.hpp>
#include <ashlar/cost/step/passes.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <vector>

namespace ashlar::cost {

// With very many micro-batches, a schedule of the catalog is executed with 16 per stage, and again with
// half as many; 4 and 2 if its order is searched for. Each further micro-batch takes as long as those
// between, because devices repeat themselves in the middle of a step.
struct execution {
  std::vector<schedule> timed;  // none: the step has a closed form; the second has fewer micro-batches
  double further = 0;           // how often the difference of the two is added
  double tick = 0;              // seconds: a nanosecond, or more if passes take minutes

  bool is_empty() const { return timed.empty(); }

  // Seconds until the last pass has ended.
  double seconds() const;
  // Seconds that a device's pairs save over their passes one after the other.
  double hidden_on(int device) const;
  // Micro-batches that a device works on, by stage.
  std::vector<double> micro_batches_on(int device) const;
  // Bytes at the peak of each device, from those that a stage keeps of a micro-batch until its backward
  // has ended. Nothing is freed between the two passes of a backward: the second needs inputs and the
  // gradients of results, as much as the first did (Qi et al. 2023, table 1: 32 of 34 parts).
  std::vector<double> held(std::vector<double> const& kept_by_stage) const;
};

// Times of forwards and of backwards, fused or in two, come from `passes`; times of pairs from
// pairs_of(), unless sequences are in chunks. A transfer delays the passes that wait for it, unless
// passes include it; all take as long as over the slowest link of the pipeline. With lanes, the program
// is simulated: a transfer also waits for those before it on its lane, and for its other end. Chunks of
// a sequence have equal parts of its passes, but later ones attend to more. Empty if the question has a
// closed form. `is_whole`: executes all micro-batches. Throws unpredictable, and violation where the
// catalog has no such schedule.
execution execute(question const& q, std::vector<stage> const& stages,
                  std::vector<stage_passes> const& passes, constants const& c, bool is_whole = false);

// Whether execute() runs all micro-batches of a schedule of the catalog, not a sample. Requires a
// question that check() accepts, with such a schedule.
bool executes_all(question const& q);

// Seconds that a forward of each stage saves at most as a pair, with any backward of a device that has
// the stage; `here` has the stages of each device. Requires a question that check() accepts, its stages,
// and passes of each. Throws unpredictable.
std::vector<double> most_hidden(question const& q, std::vector<stage> const& stages,
                                std::vector<stage_passes> const& passes,
                                std::vector<std::vector<int>> const& here, constants const& c);

// Whether interleaved virtual stages differ so that no device is the slowest in every round. A round is
// one stage of each device. Otherwise their step has a closed form. Requires a question that check()
// accepts, and passes of its stages.
bool has_uneven_rounds(question const& q, std::vector<stage_passes> const& passes);

// Passes that interleaved_seconds() executes.
double passes_of_interleaved(question const& q);

// Seconds until the last pass has ended, for virtual stages of any length, interleaved as in Megatron-LM
// with as many micro-batches in a group as devices. Transfers run during passes. Executes at most twelve
// groups and then eight; each further group takes as long as those between. O(p^2 v) with p devices and
// v stages on each. Requires a question that check() accepts, and passes of its stages. Throws
// unpredictable.
double interleaved_seconds(question const& q, std::vector<stage_passes> const& passes);

}  // namespace ashlar::cost
