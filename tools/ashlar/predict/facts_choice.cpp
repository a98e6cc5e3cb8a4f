#include "predict/facts_choice.hpp"

#include "command.hpp"
#include "options/number_option.hpp"
#include "predict/choices.hpp"
#include "predict/names.hpp"
#include "report/table.hpp"
#include <ashlar/cost/question/stage_layout.hpp>

#include <fmt/core.h>

#include <cstddef>
#include <optional>

namespace tool {

namespace {

using ashlar::cost::described_fact;
using ashlar::cost::described_number;
using ashlar::cost::fact_number_table;
using ashlar::cost::fact_table;
using ashlar::cost::given_facts;

std::optional<unsigned char> value_named(described_fact const& fact, std::string_view word) {
  for (std::size_t i = 0; i < fact.values.size() && fact.values[i] != nullptr; ++i)
    if (word == fact.values[i]) return static_cast<unsigned char>(i);
  return {};
}

std::string values_of(described_fact const& fact) {
  std::string all;
  for (char const* value : fact.values)
    if (value != nullptr) all += (all.empty() ? "" : ", ") + std::string(value);
  return all;
}

std::vector<std::string> fact_names() {
  std::vector<std::string> names;
  for (described_fact const& each : fact_table) names.emplace_back(each.name);
  for (described_number const& each : fact_number_table) names.emplace_back(each.name);
  return names;
}

void say_one(std::string_view text, given_facts& given) {
  auto const equals = text.find('=');
  std::string const name(text.substr(0, equals)),
      value(equals == text.npos ? "" : text.substr(equals + 1));
  for (std::size_t i = 0; i < fact_table.size(); ++i) {
    if (name != fact_table[i].name) continue;
    auto const found = value_named(fact_table[i], value);
    if (!found)
      throw usage_error(fmt::format("--fact {}: '{}' is none of its values: {}", name,
                                    value.substr(0, 64), values_of(fact_table[i])));
    given.of[i] = *found;
    return;
  }
  for (std::size_t i = 0; i < fact_number_table.size(); ++i) {
    described_number const& fact = fact_number_table[i];
    if (name != fact.name) continue;
    given.numbers[i] = number_within<double>("--fact " + name, value, fact.least, fact.most);
    return;
  }
  std::string all;
  for (std::string const& each : fact_names()) all += " " + each;
  throw usage_error(fmt::format("--fact: '{}' is no fact{}; there are:{}", name.substr(0, 64),
                                did_you_mean(name.substr(0, 64), fact_names()), all));
}

}  // namespace

given_facts facts_of(std::string_view text) {
  given_facts given;
  for (; !text.empty();) {
    auto const comma = text.find(',');
    say_one(text.substr(0, comma), given);
    if (comma == text.npos) break;
    text.remove_prefix(comma + 1);
  }
  return given;
}

std::string facts_word(given_facts const& given) {
  std::string all;
  for (std::size_t i = 0; i < fact_table.size(); ++i)
    if (given.of[i] != given_facts::not_said)
      all += fmt::format("{}{}={}", all.empty() ? "" : ",", fact_table[i].name,
                         fact_table[i].values[given.of[i]]);
  for (std::size_t i = 0; i < fact_number_table.size(); ++i)
    if (given.numbers[i] > 0)
      all += fmt::format("{}{}={}", all.empty() ? "" : ",", fact_number_table[i].name, given.numbers[i]);
  return all;
}

std::string facts_table(prediction const& p) {
  ashlar::cost::stack const does = stack_of(p.asked);
  std::vector<std::vector<std::string>> rows{{"fact", "value", "from", "what"}};
  for (std::size_t i = 0; i < fact_table.size(); ++i)
    rows.push_back({fact_table[i].name, fact_table[i].values[does.facts.of[i]],
                    p.asked.program.facts.of[i] == given_facts::not_said ? "assumed" : "given",
                    fact_table[i].meaning});
  for (std::size_t i = 0; i < fact_number_table.size(); ++i) {
    double const given = p.asked.program.facts.numbers[i];
    described_number const& fact = fact_number_table[i];
    rows.push_back({fact.name, given > 0 ? fmt::format("{}", given) : fact.unsaid,
                    given > 0 ? "given" : "assumed", fact.meaning});
  }
  return table(rows, 4)
         + fmt::format("assumed facts are those of {}\n", ashlar::cost::defaults_source(does.program));
}

std::vector<decisive_fact> decisive_facts(prediction const& p) {
  std::vector<decisive_fact> all;
  if (!p.answer.has_interval()) return all;
  std::vector<ashlar::cost::stage> const stages = stages_of(p.asked);
  ashlar::cost::stack const does = stack_of(p.asked);
  std::size_t const usual = unmeasured_facts(p.asked).size();
  for (std::size_t i = 0; i < fact_table.size(); ++i) {
    if (p.asked.program.facts.of[i] != given_facts::not_said) continue;
    for (std::size_t value = 0; value < fact_table[i].values.size(); ++value) {
      if (fact_table[i].values[value] == nullptr || value == does.facts.of[i]) continue;
      ashlar::cost::question other = p.asked;
      other.program.facts.of[i] = static_cast<unsigned char>(value);
      if (unmeasured_facts(other).size() > usual) continue;
      double const seconds = step_of(other, stages, p.constants.values).seconds;
      if (seconds < p.answer.low || seconds > p.answer.high)
        all.push_back({fmt::format("{}={}", fact_table[i].name, fact_table[i].values[value]), seconds});
    }
  }
  return all;
}

}  // namespace tool
