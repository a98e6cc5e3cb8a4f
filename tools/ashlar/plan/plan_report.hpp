// The output of `ashlar plan`.
#pragma once

#include "plan/plan_files.hpp"
#include <ashlar/plan/training/planner.hpp>
#include <ashlar/plan/training/shared_batch.hpp>

#include <string>
#include <vector>

namespace tool {

enum class plan_aim : unsigned char { time, cost, days };

struct plan_study {
  named_model model;
  named_cluster cluster;
  plan_aim aim = plan_aim::time;
  double tokens = 0;  // of a training
  ashlar::plan_question question;
  std::vector<ashlar::catalog::entry const*> entries;
  ashlar::plan_answer answer;
  ashlar::shared_batch shared;  // of several kinds, where time is made small

  bool has_kinds() const { return question.kinds.size() > 1; }

  // Model operations of a step over those that the plan's devices could do in `seconds`; for a model of
  // measured layers, the share of the time in which they compute.
  double utilisation(ashlar::training_plan const& plan, double seconds) const;
  double days(double seconds) const;  // of a training with such steps
  double device_hours(ashlar::training_plan const& plan, double seconds) const;
};

// The best answer to another question of the study.
ashlar::plan_answer best_of(plan_study const& study, ashlar::plan_question const& otherwise);

// The question with links that take no time.
ashlar::plan_question without_links(ashlar::plan_question question);

// The best plans of the whole cluster, of half of it, a quarter and so on, until nothing fits.
std::vector<ashlar::planned_step> best_by_size(plan_study const& study);

// "tensor 2, data 16, ..."; with several kinds, also which it uses.
std::string text_of_plan(plan_study const& study, ashlar::training_plan const& plan);
std::string name_of(ashlar::training_plan const& plan);  // of its schedule
char const* word_of(ashlar::recomputation again);
std::string gib(double bytes);

// The kind of a device of the pipelines; where its data ranks are of several, all of them: "A100+H100".
std::string kind_of_device(plan_study const& study, ashlar::training_plan const& plan, int device);

// Layers of a stage, the least and the most: "8" or "7-9".
std::string layers_of(ashlar::training_plan const& plan);

// Pipelines of one kind each, with the batch shared by speed, or why there are none; empty for one kind
// and where the plan does not minimise time.
std::string shares_of(plan_study const& study);

// The kinds of the pipelines' devices, and how many layers they have: "4 A100 (8), 4 H100 (24)".
std::string kinds_of(plan_study const& study, ashlar::training_plan const& plan);

// The bytes that the fullest device of a plan holds, by purpose.
struct held_bytes {
  double weights = 0;  // with logits, and what is whole of a layer that is run again
  double gradients = 0, optimizer = 0, activations = 0;
};
held_bytes held_by_fullest(plan_study const& study, ashlar::planned_step const& step);
std::string text_of_bytes(plan_study const& study, ashlar::planned_step const& step);

std::string text_of(plan_study const& study, bool explains);
std::string json_of(plan_study const& study);

// A picture of the first plan's schedule, timed; for trainings, of what the best plan of each size of
// the cluster costs.
std::string svg_of(plan_study const& study);

// A page of the text and that picture.
std::string html_of(plan_study const& study, bool explains);

// Memory that devices may use: "67.1 GiB", or that of each kind.
std::string text_of_budget(plan_study const& study);

// Says why the first plan is what it is, and what would change it.
std::string reasons_of(plan_study const& study);

// Each term of the first plan's time and memory.
std::string terms_of(plan_study const& study);

// The first plan's order of passes: as JSON with its times in milliseconds, or as PyTorch CSV; standard
// error says what PyTorch cannot run.
std::string schedule_of(plan_study const& study, bool as_json);
// The first plan's program: what its devices do, with transfers and what its data ranks share, as CSV
// for PyTorch. Throws usage_error where PyTorch cannot run it.
std::string program_of(plan_study const& study);

// Says which of the plans shown PyTorch, Megatron-LM and DeepSpeed can run, and why not the first.
std::string runners_of(plan_study const& study);

// Why a framework cannot run a plan; empty if it can.
std::string megatron_obstacle(plan_study const& study, ashlar::training_plan const& plan);
std::string deepspeed_obstacle(plan_study const& study, ashlar::training_plan const& plan);

// Arguments of a run with Megatron-LM, one line; empty where it has no such schedule or division.
std::string megatron_arguments(plan_study const& study, ashlar::training_plan const& plan);

// Arguments and configuration of a run with DeepSpeed's pipelines (Megatron-DeepSpeed), one line;
// likewise.
std::string deepspeed_arguments(plan_study const& study, ashlar::training_plan const& plan);

}  // namespace tool
