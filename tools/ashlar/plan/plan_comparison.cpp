// Why your own run takes longer than the first plan, term by term.
#include "command.hpp"
#include "files/files.hpp"
#include "plan/predicted_plan.hpp"
#include "predict/machines.hpp"
#include "predict/names.hpp"
#include "predict/question_options.hpp"
#include "predict/run_file.hpp"
#include "report/table.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace tool {

namespace {

using ashlar::cost::memory_parts;

// Reads "--tensor 8 --layout 'Et|tL'": quotes hold a value together; a flag has none.
option_words words_of(std::string_view text) {
  option_words all;
  std::string name;
  while (!text.empty()) {
    auto const start = std::min(text.find_first_not_of(" \t\n"), text.size());
    text.remove_prefix(start);
    if (text.empty()) break;
    char const quote = text.front() == '\'' || text.front() == '"' ? text.front() : char{};
    auto const end =
        std::min(quote != 0 ? text.find(quote, 1) : text.find_first_of(" \t\n"), text.size());
    std::string const word(text.substr(quote != 0 ? 1 : 0, quote != 0 ? end - 1 : end));
    text.remove_prefix(std::min(end + (quote != 0 ? 1 : 0), text.size()));
    if (quote == 0 && word.starts_with("--")) {
      auto const equals = std::min(word.find('='), word.size());
      name = word.substr(2, equals - 2);
      all[name] = equals < word.size() ? word.substr(equals + 1) : "true";
    } else if (name.empty()) {
      throw usage_error(fmt::format("--explain-against takes options of predict or a file, not '{}'",
                                    word.substr(0, 64)));
    } else {
      all[name] = word;
    }
  }
  return all;
}

// The model of a file, and its sequences unless it has them, are the plan's.
framework_run run_of(std::string const& text, beside_file const& same) {
  if (text.starts_with("--")) return {.options = words_of(text)};
  if (text.ends_with(".toml")) return read_torchtitan(text, same);
  if (text.ends_with(".json"))
    return holds_run(text) ? read_run(read_run_text(text), same) : read_deepspeed(text, same);
  return read_text(text).find("--training.") != std::string::npos ? read_torchtitan(text, same)
                                                                  : read_megatron(text, same);
}

memory_parts fullest_of(prediction const& p) {
  auto const& all = p.answer.memory;
  return *std::max_element(all.begin(), all.end(),
                           [](auto const& a, auto const& b) { return a.all() < b.all(); });
}

// Avoids "-0.000".
std::string signed_seconds(double s) { return fmt::format("{:+.3f}", std::fabs(s) < 0.0005 ? 0.0 : s); }

}  // namespace

std::string comparison_with(std::string const& file_or_options, predicted_request const& r,
                            predicted_study const& s) {
  if (s.plans.empty()) return "Nothing fits that it could be compared with.\n";
  prediction const& first = s.plans[0].run;
  framework_run const given =
      run_of(file_or_options,
             {{{"model", r.given.at("model")}}, &s.asked.model, s.asked.asked.cluster.device_count()});
  option_words words = given.options;
  for (char const* same : {"sequence", "batch"})
    if (auto const at = words.find(same); at != words.end() && at->second != r.given.at(same))
      throw usage_error(fmt::format("--explain-against: its {} is {}, and the plan's {}", same,
                                    at->second, r.given.at(same)));
  for (char const* same : {"model", "cluster", "sequence", "batch"}) words[same] = r.given.at(same);
  if (auto const lanes = r.given.find("lanes"); lanes != r.given.end()) words.insert(*lanes);
  prediction mine = prepare(options_from(words), s.asked.model,
                            r.cluster ? *r.cluster : read_cluster(words["cluster"]), s.asked.constants);
  mine.not_known = given.not_known;
  answer_it(mine);
  double const own = mine.answer.step.seconds, best = first.answer.step.seconds;
  std::string text = fmt::format("\nYours: {}\n", options_of(mine));
  if (!mine.not_known.empty())
    text += fmt::format("Not known, and may change it: {}\n", given.not_known);
  if (!mine.answer.every_stage_works)
    text += "It does not run: some of its stages have no layer.\n";
  else if (mine.answer.peak + s.asked.constants.values.outside_bytes > mine.answer.capacity)
    text += fmt::format("It {}: {:.1f} GiB of {:.1f}, with what must stay free.\n", fit_word(mine),
                        mine.answer.peak / (1 << 30),
                        (mine.answer.capacity - s.asked.constants.values.outside_bytes) / (1 << 30));
  else if (!mine.answer.fits)
    text += fmt::format("It does not fit: {:.1f} GiB of {:.1f} of the host.\n",
                        mine.answer.peak_on_host / (1 << 30),
                        mine.asked.cluster.device().host.memory_bytes / (1 << 30));
  text += own > best   ? fmt::format("It takes {:.3f} s, {} % more than the first: {:.3f} s.\n", own,
                                     percent(own / best - 1, 1), best)
          : own < best ? fmt::format("It takes {:.3f} s, {} % less than the first: {:.3f} s.\n", own,
                                     percent(1 - own / best, 1), best)
                       : fmt::format("It takes {:.3f} s, as long as the first.\n", own);
  if (own < best && mine.answer.fits)
    text += is_usual(mine.asked)
                ? "It was not among what was tried: something is fixed, or of another schedule.\n"
                : "It is of a kind that is not tried.\n";

  std::vector<named_term> const its = terms_of(mine), others = terms_of(first);
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < its.size(); ++i)
    if (its[i].seconds > 0 || others[i].seconds > 0) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::fabs(its[a].seconds - others[a].seconds) > std::fabs(its[b].seconds - others[b].seconds);
  });
  std::vector<std::vector<std::string>> rows{{"seconds", "yours", "the first", "more", "what"}};
  for (std::size_t i : order)
    rows.push_back({its[i].name, fmt::format("{:.3f}", its[i].seconds),
                    fmt::format("{:.3f}", others[i].seconds),
                    signed_seconds(its[i].seconds - others[i].seconds), its[i].meaning});
  text += "\n" + table(rows, 1);
  memory_parts const mine_holds = fullest_of(mine), first_holds = fullest_of(first);
  std::vector<std::vector<std::string>> bytes{{"GiB on the fullest device", "yours", "the first"}};
  auto const add = [&](char const* what, double memory_parts::*part) {
    if (mine_holds.*part > 0 || first_holds.*part > 0)
      bytes.push_back({what, fmt::format("{:.1f}", mine_holds.*part / (1 << 30)),
                       fmt::format("{:.1f}", first_holds.*part / (1 << 30))});
  };
  add("parameters", &memory_parts::parameters);
  add("gradients", &memory_parts::gradients);
  add("optimizer", &memory_parts::optimizer);
  add("activations", &memory_parts::activations);
  add("logits", &memory_parts::logits);
  add("gathered", &memory_parts::gathered);
  bytes.push_back({"all", fmt::format("{:.1f}", mine_holds.all() / (1 << 30)),
                   fmt::format("{:.1f}", first_holds.all() / (1 << 30))});
  add("on the host", &memory_parts::host);
  return text + "\n" + table(bytes, 1);
}

}  // namespace tool
