// The report of `ashlar predict`, for people and for programs.
#pragma once

#include "predict/constants_file.hpp"
#include "predict/models.hpp"
#include <ashlar/cost/step/answer.hpp>

#include <string>
#include <utility>
#include <vector>

namespace tool {

// One other way to run the same model and batch on the same devices.
struct neighbour {
  std::string change;  // as options: "--tensor 4 --data 32"
  double seconds = 0, peak = 0;
};

// The layouts tried where the question left sizes open.
struct tried_layouts {
  long long tried = 0, too_large = 0;  // 0: nothing was left open
  std::vector<neighbour> best = {};    // the fastest first
};

// An assumed fact of the program whose other value takes the step out of its interval.
struct decisive_fact {
  std::string fact;  // "tensor-overlap=off"
  double seconds = 0;
};

struct prediction {
  described_model model;
  ashlar::cost::question asked;
  std::string layout;    // as it was written; empty: even, or `asked.layout.stages`
  std::string schedule;  // as it was asked for; empty: as the chunks say
  // likewise
  std::string recompute, freeze, train_only, lora, frozen_weights, head, tower_tokens, tower_ranks,
      optimizer, teacher;
  fitted_constants constants;
  std::string costs;               // the file of measured times; empty: none
  std::vector<std::string> notes;  // what was taken for something else, and why
  std::string not_read;            // words of the run's file that change nothing
  std::string not_known;           // and those that may change the answer: there are no intervals then
  ashlar::cost::answer answer;
  bool is_chosen = false;  // of many: there is nothing to change first
  std::vector<decisive_fact> decisive = {};
  std::vector<neighbour> better;  // that fit, the fastest first
  tried_layouts layouts;
};

// Seconds with their unit; bytes as a number of GiB.
std::string seconds_words(double s);
std::string gibibytes(double bytes);

// Sentences on parts of the question that were left out, not read, or taken for something else.
std::vector<std::string> remarks_on(prediction const& p);

// Changes of one or two sizes at a time that make the run faster, or make it fit where it does not.
std::vector<neighbour> neighbours_of(prediction const& p);
bool has_neighbours(prediction const& p);  // whether they are tried at all

// "fits", "should fit", "should not fit" or "does not fit".
std::string fit_word(prediction const& p);

std::string text_of(prediction const& p, bool explains);
std::string json_of(prediction const& p);

// The predicted passes of each stage and the messages between them, as a file for --costs. Requires
// devices of one kind.
std::string costs_text(prediction const& p);

// The order of passes, a tick a nanosecond; where there is a closed form, as the catalog has it. Throws
// usage_error for passes that are too long.
ashlar::schedule schedule_of(prediction const& p);

// The passes of a step in their predicted times; the page has the text, too. Both throw usage_error if
// there is too much to draw.
std::string svg_of(prediction const& p);
std::string html_of(prediction const& p);
std::string trace_of(prediction const& p);

// A term of a step with its name, its seconds and its formula. The terms of the passes come first, then
// those that a step has once. They add up to the step.
struct named_term {
  char const* name;
  double seconds;
  char const* meaning;
  char const* formula;
};
std::vector<named_term> terms_of(prediction const& p);

// Options with their values; a flag has none.
using option_list = std::vector<std::pair<char const*, std::string>>;
std::string line_of(option_list const& options);

// The options that say how a model lies on devices.
option_list rank_list(ashlar::cost::question const& q);
std::string rank_options(ashlar::cost::question const& q);

// The options that say a run's sizes and order.
option_list options_list(prediction const& p);
std::string options_of(prediction const& p);

}  // namespace tool
