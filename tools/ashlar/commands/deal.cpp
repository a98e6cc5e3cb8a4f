// ashlar deal: sequences of different lengths packed into micro-batches that take equal time.
#include "command.hpp"
#include "files/files.hpp"
#include "options/cost_options.hpp"
#include "options/limits.hpp"
#include "options/number_option.hpp"
#include "options/output_options.hpp"
#include "report/certificates.hpp"
#include "report/counted.hpp"
#include "report/printed.hpp"
#include "report/proved_gap.hpp"
#include "report/table.hpp"
#include <ashlar/bounds/lower_bound.hpp>
#include <ashlar/plan/parts/deal_samples.hpp>
#include <ashlar/render/diagnosis.hpp>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace tool {

namespace {

constexpr int most_samples = 1 << 20, most_tokens_of_a_sample = 1 << 30;

struct deal_options {
  std::string path;
  long long m = 8;
  std::int64_t most_tokens = 0;  // 0: no limit
  int tokens = 0;                // of the sequence that costs are of; 0: the longest
  std::map<std::string, duration> times = {};
  std::vector<int> causal = {};
  std::string format = "text";
  std::string output = "-";
  std::string certificate;
};

// A length in each line; empty lines and lines that begin with # do not count.
std::vector<int> read_lengths(std::string const& path) {
  std::vector<int> lengths;
  std::istringstream lines(read_text(path));
  std::size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.empty() || line[0] == '#') continue;
    if (static_cast<int>(lengths.size()) == most_samples)
      throw usage_error(fmt::format("'{}' has more than {} samples", path, most_samples));
    lengths.push_back(number_within<int>(fmt::format("'{}', line {}: a length", path, number), line, 1,
                                         most_tokens_of_a_sample));
  }
  if (lengths.empty()) throw usage_error(fmt::format("'{}' has no lengths", path));
  return lengths;
}

struct deal {
  std::vector<int> tokens;
  ashlar::sequence_cost cost;
  time_scale scale;
  ashlar::dealt_samples found;

  std::int64_t tokens_of(std::vector<int> const& samples) const {
    std::int64_t sum = 0;
    for (int const sample : samples) sum += tokens[static_cast<std::size_t>(sample)];
    return sum;
  }
  ashlar::stage_cost passes_of(std::vector<int> const& samples) const {
    std::vector<int> lengths;
    for (int const sample : samples) lengths.push_back(tokens[static_cast<std::size_t>(sample)]);
    return cost.of(lengths);
  }
};

deal deal_of(deal_options const& o) {
  deal d{.tokens = read_lengths(o.path), .cost = {}, .scale = {}, .found = {}};
  std::vector<duration> given;
  for (auto const& [flag, time] : o.times) given.push_back(time);
  d.scale = scale_of(given);
  auto const time = [&](char const* flag) {
    auto const found = o.times.find(flag);
    // Plain times are in thousandths, because a short sequence takes a small part of them.
    return found == o.times.end() ? ashlar::tick{1000} : ticks_of(found->second, d.scale) * 1000;
  };
  d.cost = {.tokens = o.tokens > 0 ? o.tokens : *std::max_element(d.tokens.begin(), d.tokens.end()),
            .whole = {time("--forward"), time("--backward-input"), time("--backward-weight")},
            .attention = causal_share_of(o.causal)};
  d.scale.ticks_per_unit *= 1000;
  if (static_cast<long long>(d.tokens.size()) < o.m)
    throw usage_error(fmt::format("'{}' has {}: too few for {}", o.path,
                                  counted(static_cast<long long>(d.tokens.size()), "sample"),
                                  counted(o.m, "micro-batch")));
  d.found = ashlar::deal_samples(d.tokens, d.cost, ashlar::micro_batches{static_cast<int>(o.m)},
                                 o.most_tokens == 0 ? ashlar::max_tick : o.most_tokens);
  return d;
}

std::string text_of(deal const& d) {
  std::vector<std::vector<std::string>> rows{
      {"micro-batch", "samples", "tokens", "longest", "forward", "backward input", "backward weight"}};
  for (std::size_t k = 0; k < d.found.micro_batches.size(); ++k) {
    std::vector<int> const& own = d.found.micro_batches[k];
    int longest = 0;
    for (int const sample : own) longest = std::max(longest, d.tokens[static_cast<std::size_t>(sample)]);
    ashlar::stage_cost const c = d.passes_of(own);
    rows.push_back({std::to_string(k), std::to_string(own.size()), std::to_string(d.tokens_of(own)),
                    std::to_string(longest), d.scale.number(c.forward), d.scale.number(c.backward_input),
                    d.scale.number(c.backward_weight)});
  }
  return table(rows)
         + fmt::format("\nlongest: {} of all passes of a stage, no less than {}, gap {} %\n",
                       readable(d.scale.in_units(d.found.longest)),
                       readable(d.scale.in_units(d.found.least)),
                       percent(proved_gap(d.found.longest, d.found.least)));
}

// The file of --per-micro-batch, with the samples in comments.
std::string csv_of(deal const& d) {
  std::string text = "# forward,backward_input,backward_weight\n";
  for (std::vector<int> const& own : d.found.micro_batches) {
    ashlar::stage_cost const c = d.passes_of(own);
    text += fmt::format("# samples {}\n{}{},{}{},{}{}\n", fmt::join(own, " "), d.scale.number(c.forward),
                        d.scale.unit, d.scale.number(c.backward_input), d.scale.unit,
                        d.scale.number(c.backward_weight), d.scale.unit);
  }
  return text;
}

std::string json_of(deal const& d) {
  nlohmann::ordered_json out{{"longest", d.scale.in_units(d.found.longest)},
                             {"bound", d.scale.in_units(d.found.least)}};
  if (!d.scale.unit.empty()) out["time_unit"] = d.scale.unit;
  auto& all = out["micro_batches"] = nlohmann::ordered_json::array();
  for (std::vector<int> const& own : d.found.micro_batches) {
    ashlar::stage_cost const c = d.passes_of(own);
    all.push_back({{"samples", own},
                   {"tokens", d.tokens_of(own)},
                   {"forward", d.scale.in_units(static_cast<double>(c.forward))},
                   {"backward_input", d.scale.in_units(static_cast<double>(c.backward_input))},
                   {"backward_weight", d.scale.in_units(static_cast<double>(c.backward_weight))}});
  }
  return dumped(out) + "\n";
}

// Times of micro-batches are in whole ticks of the certificate, rounded away from each other.
std::string certificate_of(deal const& d, deal_options const& o) {
  constexpr double rounding = 1e-12;
  nlohmann::ordered_json made{
      {"certificate", "deal"},
      {"schedule", o.path},
      {"lengths", d.tokens},
      {"tokens", d.cost.tokens},
      {"passes",
       {{d.cost.whole.forward, d.cost.attention.forward},
        {d.cost.whole.backward_input, d.cost.attention.backward_input},
        {d.cost.whole.backward_weight, 0}}},
      {"micro_batches", d.found.micro_batches},
      {"longest", static_cast<std::int64_t>(std::ceil(d.found.longest * (1 + rounding)))},
      {"least", static_cast<std::int64_t>(d.found.least * (1 - rounding))}};
  if (o.most_tokens > 0) made["most_tokens"] = o.most_tokens;
  return made.dump();
}

int print_deal(deal_options const& o) {
  output const to(o.output);
  certificates proofs(o.certificate);
  try {
    deal const d = deal_of(o);
    to.write(o.format == "json" ? json_of(d) : o.format == "csv" ? csv_of(d) : text_of(d));
    if (!o.certificate.empty()) proofs.add(certificate_of(d, o));
  } catch (ashlar::violation const& e) {
    if (e.why.broken != ashlar::rule::memory_is_within_budget) throw;
    fmt::print(stderr, "ashlar: no deal found of at most {} each: sample {} finds no room\n",
               counted(o.most_tokens, "token"), e.why.first.index);
    return invalid;
  }
  return proofs.write();
}

}  // namespace

void add_deal(CLI::App& app, action& chosen) {
  auto* const command =
      app.add_subcommand("deal", "Pack sequences of different lengths into micro-batches of equal time");
  auto const o = std::make_shared<deal_options>();
  command
      ->add_option("lengths", o->path,
                   "file with the tokens of a sample in each line; - is standard input")
      ->required()
      ->type_name("FILE");
  add_number(*command, "-m,--micro-batches", o->m, 1, most_micro_batches, "micro-batches");
  add_number(*command, "--max-tokens", o->most_tokens, 1, std::int64_t{1} << 40,
             "tokens that a micro-batch may have, as memory allows (default: any)")
      ->default_str("");
  add_number(*command, "--tokens", o->tokens, 1, most_tokens_of_a_sample,
             "tokens of the sequence that the times are of (default: those of the longest sample)")
      ->default_str("");
  add_duration(*command, "--forward", o->times, 0, "a stage's forward of that sequence (default: 1)");
  add_duration(*command, "--backward-input", o->times, 0, "the gradient of its input (default: 1)");
  add_duration(*command, "--backward-weight", o->times, 0, "the gradient of its weights (default: 1)");
  add_numbers(
      *command, "--causal", o->causal, 0, 100,
      "percent of the forward and of the input pass of that sequence that is attention, one number "
      "or two: 30,46; it grows with the square of the length (default: 0)")
      ->type_name("PERCENT");
  add_format_option(*command, o->format, {"text", "csv", "json"},
                    "text; csv: the file of --per-micro-batch; json");
  add_output_option(*command, o->output);
  add_certificate_option(*command, o->certificate);
  command->callback([&chosen, o] { chosen = [o] { return print_deal(*o); }; });
}

}  // namespace tool
