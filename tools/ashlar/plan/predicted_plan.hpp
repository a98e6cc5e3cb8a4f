// `ashlar plan` with the formulas of `ashlar predict`: a transformer on devices of one kind.
#pragma once

#include "plan/plan_report.hpp"
#include "predict/framework_files.hpp"
#include "predict/frameworks.hpp"
#include "predict/report.hpp"
#include <ashlar/catalog/entry.hpp>
#include <ashlar/cost/choose/layouts.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace tool {

struct predicted_request {
  option_words given;  // options of predict: the model, the cluster, the batch, and what is fixed
  std::size_t top = 5;
  double margin = 0;  // share of each device's memory that is left free besides
  plan_aim aim = plan_aim::time;
  double tokens = 0;      // of a training; 0: 20 a parameter
  std::string schedules;  // names with commas; empty: all of the catalog that can be executed
  framework const* runs_in = nullptr;  // nothing but what it runs
  bool any_precision = false;          // the formats of products are open, too
  bool offloads = false;  // what leaves for the host is open, too; else where nothing else fits
};

struct predicted_plan {
  prediction run;
  double bound = 0;  // no other division of its layers takes less; 0: none was looked at
};

struct predicted_study {
  prediction asked;                   // without a layout
  std::vector<predicted_plan> plans;  // that fit, the best first
  predicted_plan smallest;            // if there are none
  ashlar::cost::layouts_found found;
  std::vector<std::string> not_planned = {};  // schedules that were asked for, each with the reason
  bool needs_host = false;                    // nothing fits where nothing leaves for it
  plan_aim aim = plan_aim::time;
  double tokens = 0;

  double days(predicted_plan const& p) const;
  double device_hours(predicted_plan const& p) const;
};

// Whether both are expressed by predict's formulas: no measured layers, one kind of device by its data
// sheet. Throws usage_error for files that cannot be read.
bool has_formulas(std::string const& model, std::string const& cluster);

// The tokens of a sequence that the model's file gives; 0: none. Throws usage_error.
int own_sequence(std::string const& model);

// Throws usage_error.
predicted_study study_of(predicted_request const& r);

std::string text_of(predicted_study const& s, bool explains);
std::string json_of(predicted_study const& s);

// A picture of the first plan's schedule or, for trainings, of what the best plan of each size of the
// cluster costs.
std::string svg_of(predicted_request const& r, predicted_study const& s);
std::string html_of(predicted_request const& r, predicted_study const& s, bool explains);

// Says, term by term, why a run from a file of a framework or options of predict takes longer than the
// first plan, or does not. Throws usage_error.
std::string comparison_with(std::string const& file_or_options, predicted_request const& r,
                            predicted_study const& s);

}  // namespace tool
