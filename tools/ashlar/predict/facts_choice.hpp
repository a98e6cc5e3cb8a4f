// Facts about the training program, as options say them and as answers print them.
#pragma once

#include "predict/report.hpp"
#include <ashlar/cost/question/facts.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace tool {

// Reads "tensor-overlap=off,graphs=layers". Throws usage_error.
ashlar::cost::given_facts facts_of(std::string_view text);

// The given facts, as facts_of() reads them.
std::string facts_word(ashlar::cost::given_facts const& given);

// A table of all facts: values, and whether they were given or assumed.
std::string facts_table(prediction const& p);

// All facts that decide the step by values that published runs have; none without an interval.
std::vector<decisive_fact> decisive_facts(prediction const& p);

}  // namespace tool
