// A table of the training programs, with what they run and the files that tell them a run.
#pragma once

#include "predict/report.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace tool {

struct framework {
  char const* name;  // of --emit
  char const* title;
  char const* version;  // that the rest of the line is of
  char const* source;   // where it says so
  // Features of the framework.
  bool any_division = false;  // of the layers; false: as many to each stage
  bool virtual_stages = false, context = false, experts = false, expert_tensor = false;
  bool shares_optimizer = false;    // ZeRO-1
  bool shares_gradients = false;    // ZeRO-2, without a pipeline
  bool first_layers = false;        // of each stage, run again
  bool parts = false;               // of layers, run again
  bool low_precision = false;       // fp8 and narrower
  bool half = false;                // fp16
  bool pipeline_inside = false;     // ranks in that order
  bool offloads_parts = false;      // of layers to the host
  bool offloads_optimizer = false;  // likewise, where data ranks share it
  char const* schedules = "";       // beside 1f1b, with blanks
  // Its program and facts where they are not guessed from the run: arguments of --stack and --fact.
  char const *stack = "", *facts = "";
};

std::vector<framework> const& frameworks();
std::string title_of(framework const& f);

// Why it does not run this; empty if it does. They look at the layout, with the name of its schedule; at
// the model; at both.
std::string obstacle_of_layout(framework const& f, ashlar::cost::question const& q,
                               std::string const& schedule);
std::string obstacle_of_model(framework const& f, prediction const& p);
std::string obstacle_of(framework const& f, prediction const& p);

// Whether it has the schedule, by the catalog's name; 1f1b and interleaved for those with closed forms.
bool has_schedule(framework const& f, std::string_view name);

// A file that tells it the run, which it has no obstacle to.
std::string configuration_of(framework const& f, prediction const& p);

// The module and the function of torchtitan's that make the model, with a blank; empty: none does.
std::string torchtitan_model(prediction const& p);

// Megatron-LM's arguments that make a model, each with its value; a flag has none. `why` says what no
// arguments make.
struct argument {
  std::string name, value;
};
std::vector<argument> megatron_model_arguments(prediction const& p, std::string& why);

}  // namespace tool
