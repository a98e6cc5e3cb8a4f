#include "predict/tower_choice.hpp"

#include "command.hpp"
#include "options/number_option.hpp"
#include "predict/report_words.hpp"
#include "predict/tower_words.hpp"
#include <ashlar/cost/model/tower_parameters.hpp>
#include <ashlar/interop/near_names.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace tool {

namespace {

using ashlar::cost::architecture;
using ashlar::cost::tower;
using ashlar::cost::tower_product;

constexpr int most_tokens = 1 << 24, most_inputs = 100'000;

std::size_t number_of(std::string_view name, architecture const& a) {
  std::vector<bool> const named = towers_named(name, a);
  auto const first = std::find(named.begin(), named.end(), true);
  if (first != named.end()) return static_cast<std::size_t>(first - named.begin());
  std::vector<std::string> known;
  for (tower const& each : a.towers) known.push_back(each.name);
  throw usage_error(
      fmt::format("--tower-tokens: the model has no '{}'{}; there are: {}", name.substr(0, 64),
                  ashlar::did_you_mean(std::string(name.substr(0, 64)), known), fmt::join(known, ", ")));
}

// Rows that stay whole: what a tower of these tokens hands on is in proportion to them.
double scaled(double rows, double from, double to) { return std::round(rows * to / from); }

void set_tokens(architecture& a, std::size_t first, int tokens, int inputs) {
  double const before = a.towers[first].tokens;
  for (std::size_t i = first; i < a.towers.size() && (i == first || a.towers[i].continues); ++i) {
    tower& t = a.towers[i];
    t.inputs = inputs;
    if (i == first)
      t.tokens = tokens;
    else if (before > 0 && t.tokens > 0)
      t.tokens = scaled(t.tokens, before, tokens);
    for (tower_product& each : t.products)
      if (before > 0 && each.rows > 0) each.rows = scaled(each.rows, before, tokens);
  }
}

}  // namespace

void choose_tower_tokens(std::string_view text, prediction& p) {
  p.tower_tokens = text;
  while (!text.empty()) {
    auto const comma = text.find(',');
    std::string_view const one = text.substr(0, comma);
    text.remove_prefix(comma == text.npos ? text.size() : comma + 1);
    auto const equals = one.find('=');
    if (equals == one.npos)
      throw usage_error(fmt::format("--tower-tokens takes NAME=TOKENS or NAME=TOKENSxINPUTS, not '{}'",
                                    one.substr(0, 64)));
    std::size_t const number = number_of(one.substr(0, equals), p.asked.model);
    if (p.asked.model.towers[number].continues)
      throw usage_error(fmt::format("--tower-tokens: tokens of {} follow from those before it",
                                    p.asked.model.towers[number].name));
    std::string_view const sizes = one.substr(equals + 1);
    auto const times = sizes.find('x');
    int const tokens = number_within<int>("--tower-tokens: tokens of an input", sizes.substr(0, times),
                                          1, most_tokens),
              inputs = times == sizes.npos ? 1
                                           : number_within<int>("--tower-tokens: inputs of a sequence",
                                                                sizes.substr(times + 1), 1, most_inputs);
    set_tokens(p.asked.model, number, tokens, inputs);
  }
}

void choose_tower_ranks(std::string_view text, prediction& p) {
  if (text != "tensor" && text != "none" && text != "context")
    throw usage_error(
        fmt::format("--tower-ranks takes tensor, none or context, not '{}'", text.substr(0, 64)));
  if (p.asked.model.towers.empty()) return;  // a program says it of all models
  p.tower_ranks = text;
  for (tower& each : p.asked.model.towers) {
    if (text == "none") each.is_undivided = true;
    each.is_split_by_context = text == "context";
  }
}

void check_tower_tokens(prediction const& p) {
  architecture const& a = p.asked.model;
  if (a.has_cross_attention()) return;
  double all = 0;
  for (std::size_t i = 0; i < a.towers.size(); ++i)
    if (i + 1 == a.towers.size() || !a.towers[i + 1].continues)
      all += a.towers[i].inputs * a.towers[i].rows(p.asked.sequence);
  if (all > p.asked.sequence)
    throw usage_error(fmt::format(
        "--sequence {}: that is less than the {:.0f} tokens which the parts before the decoder "
        "hand on; --tower-tokens says others than the model's",
        p.asked.sequence, all));
}

std::vector<std::string> remarks_on_towers(prediction const& p) {
  architecture const& a = p.asked.model;
  std::vector<std::string> all;
  bool assumes = false;
  for (tower const& t : a.towers) {
    std::string const frozen = t.is_frozen ? ", frozen" : "";
    std::string const layers =
        t.layers.empty() ? std::string() : fmt::format("{} layers, ", t.layers.size());
    std::string const tokens = t.tokens > 0 ? fmt::format("{:.0f} tokens", t.tokens)
                                            : std::string("as many tokens as a sequence");
    all.push_back(fmt::format("with {}: {}{} parameters{}; {} {} of {}", t.name, layers,
                              count_words(tower_parameters(a, t)), frozen, t.inputs,
                              t.inputs == 1 ? "input" : "inputs", tokens));
    assumes = assumes || p.tower_tokens.find(t.name + "=") == std::string::npos;
  }
  if (assumes && p.tower_tokens.empty())
    all.emplace_back("inputs of a sequence and their tokens are assumed; --tower-tokens says others");
  return all;
}

}  // namespace tool
