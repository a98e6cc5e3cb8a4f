// What `ashlar plan` prints.
#pragma once

#include "plan_files.hpp"
#include <ashlar/plan/training_plan.hpp>

#include <string>
#include <vector>

namespace tool {

struct plan_study {
  named_model model;
  named_cluster cluster;
  ashlar::plan_question question;
  std::vector<ashlar::catalog::entry const*> entries;
  ashlar::plan_answer answer;
};

// Asks the question of the study, told otherwise; the best alone.
ashlar::plan_answer best_of(plan_study const& study, ashlar::plan_question const& otherwise);

std::string text_of(plan_study const& study, bool explains);
std::string json_of(plan_study const& study);

// Arguments of a run with Megatron-LM, one line; empty where it has no such schedule or division.
std::string megatron_arguments(plan_study const& study, ashlar::training_plan const& plan);

}  // namespace tool
