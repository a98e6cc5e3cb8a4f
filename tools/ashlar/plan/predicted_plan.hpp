// `ashlar plan` with the formulas of `ashlar predict`: a transformer on devices of one kind.
#pragma once

#include "predict/framework_files.hpp"
#include "predict/frameworks.hpp"
#include "predict/report.hpp"
#include <ashlar/catalog/entry.hpp>
#include <ashlar/cost/choose/layouts.hpp>
#include <ashlar/cost/choose/shared_batch.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tool {

// The value to minimise: seconds of a step, device hours of a training, or its days.
enum class plan_aim : unsigned char { time, cost, days };

class noted_layouts;  // of plan_certificate.hpp

struct predicted_request {
  option_words given;  // options of predict: the model, the cluster, the batch, and what is fixed
  std::optional<described_model> model = {};          // in the place of its name
  std::optional<ashlar::cost::cluster> cluster = {};  // likewise
  std::vector<std::string> notes = {};                // on the run's file
  std::string not_known = {};                         // in it
  std::optional<counted_parameters> counted = {};     // likewise
  std::size_t top = 5;
  double margin = 0;  // share of each device's memory that is left free besides
  plan_aim aim = plan_aim::time;
  double tokens = 0;                             // of a training; 0: 20 a parameter
  std::optional<ashlar::cost::cluster> on = {};  // a part of the cluster; none: all of it
  std::string schedules;  // names with commas; empty: all of the catalog that can be executed
  framework const* runs_in = nullptr;  // nothing but what it runs
  std::string costs = {};              // of measured layers: a file of their times
  std::int64_t search = 0;             // passes that a search for better orders may dispatch; 0: none
  std::vector<int> causal = {};        // percentages of their passes that are causal attention
  bool shares_batch = true;            // several kinds: also look for a batch shared by speed
  bool any_precision = false;          // the formats of products are open, too
  bool offloads = false;           // what leaves for the host is open, too; else where nothing else fits
  noted_layouts* tried = nullptr;  // where to note them
};

struct predicted_plan {
  prediction run;
  double bound = 0;    // no other division of its layers takes less; 0: none was looked at
  double catalog = 0;  // seconds in the catalog's order, where a search found a better one; else 0

  // The share of the devices' peak; of measured layers, the share of the time in which they compute.
  double utilisation() const;
};

// The question, changed in one point, and its best plan; none if nothing fits, or nothing is possible.
struct what_if {
  std::string change;
  std::optional<predicted_plan> best;
};

struct predicted_study {
  prediction asked;                   // without a layout
  std::vector<predicted_plan> plans;  // that fit, the best first
  predicted_plan smallest;            // if there are none
  ashlar::cost::layouts_found found;
  std::vector<std::string> not_planned = {};  // schedules that were asked for, each with the reason
  ashlar::cost::shared_batch shared = {};     // of several kinds
  bool needs_host = false;                    // nothing fits where nothing leaves for it
  std::vector<what_if> what_ifs = {};         // where the reasons for the first plan are asked for
  plan_aim aim = plan_aim::time;
  double tokens = 0;

  double days(predicted_plan const& p) const;
  double device_hours(predicted_plan const& p) const;
};

// Half of the nodes of each kind; none where a number of nodes is odd.
std::optional<ashlar::cost::cluster> half_of(ashlar::cost::cluster const& c);

// Whether the model is a file of measured layers. Throws usage_error.
bool has_measured_layers(std::string const& model);

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
