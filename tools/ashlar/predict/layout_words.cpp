#include "predict/layout_words.hpp"

#include "predict/choices.hpp"
#include <ashlar/cost/question/rank_questions.hpp>
#include <ashlar/cost/question/stage_layout.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace tool {

namespace {

using ashlar::cost::question;
using ashlar::cost::recomputation;
using ashlar::cost::stage;

std::string times(char what, int count) {
  return count <= 3 ? std::string(static_cast<std::size_t>(count), what)
                    : fmt::format("{}*{}", what, count);
}

// Calls `add(word, how many)` for each run of equal words.
template <class Add>
void each_run(std::vector<std::string> const& words, Add add) {
  for (std::size_t i = 0, end = 0; i < words.size(); i = end) {
    while (end < words.size() && words[end] == words[i]) ++end;
    add(words[i], end - i);
  }
}

// The first word of each part.
template <class Choices, class Parts>
std::string parts_of(Choices const& choices, Parts all, char const* between) {
  std::string text;
  Parts named{};
  for (auto const& [word, part] : choices) {
    if (part == Parts::none || !has(all, part) || has(named, part)) continue;
    named = named | part;
    text += (text.empty() ? "" : between) + std::string(word);
  }
  return text;
}

std::string in_layers(std::string const& parts, ashlar::cost::chosen_layers const& which) {
  return which.are_all() ? parts : fmt::format("{}:{}", parts, which.first);
}

}  // namespace

std::string megatron_letters(stage const& s) {
  return (s.has_embedding ? "E" : "") + times('t', s.count) + times('m', s.predictions)
         + times('L', s.has_head ? std::max(1, s.losses) : 0);
}

std::string megatron_letters(std::vector<stage> const& stages) {
  std::vector<std::string> words;
  for (stage const& s : stages) words.push_back(megatron_letters(s));
  std::string const last = words.back();
  words.pop_back();
  std::string text;
  each_run(words, [&](std::string const& word, std::size_t count) {
    text += count == 1 ? word + "|" : fmt::format("({}|)*{},", word, count);
  });
  return text + last;
}

std::vector<std::string> torchtitan_modules(stage const& s) {
  std::vector<std::string> all;
  if (s.has_embedding) all.emplace_back("tok_embeddings");
  for (int i = s.first; i < s.first + s.count; ++i) all.push_back(fmt::format("layers.{}", i));
  if (s.has_head) all.insert(all.end(), {"norm", "lm_head"});
  return all;
}

std::string kind_of_rank(question const& q, int rank) {
  std::string all;
  for (int each : kinds_of_rank(q, rank))
    all += (all.empty() ? "" : "+") + q.cluster.kinds[static_cast<std::size_t>(each)].name;
  return all;
}

std::string layer_counts(std::vector<stage> const& stages) {
  std::vector<std::string> words;
  for (stage const& s : stages) words.push_back(fmt::format("{}", s.count));
  std::string text;
  each_run(words, [&](std::string const& word, std::size_t count) {
    text += (text.empty() ? "" : " ") + word;
    if (count > 1) text += fmt::format("x{}", count);
  });
  return text;
}

bool deals_evenly(std::vector<stage> const& stages) {
  return std::all_of(stages.begin(), stages.end(),
                     [&](stage const& s) { return s.count == stages.front().count; });
}

std::string schedule_word(question const& q) {
  return q.layout.pipeline == 1 ? "none" : q.layout.chunks == 1 ? "1f1b" : "interleaved";
}

std::string schedule_word(prediction const& p) {
  return p.schedule.empty() ? schedule_word(p.asked) : p.schedule;
}

std::string recompute_word(question const& q) {
  if (q.layout.recompute == recomputation::none) return "none";
  if (!q.layout.recompute_in.these.empty()) return {};
  return in_layers(parts_of(recomputation_choices, q.layout.recompute, ","), q.layout.recompute_in);
}

std::string offload_parts(question const& q, char const* between) {
  return parts_of(offload_choices, q.layout.offload.parts, between);
}

std::string offload_word(question const& q) {
  if (q.layout.offload.parts == ashlar::cost::offloaded::none) return "none";
  return in_layers(offload_parts(q, ","), q.layout.offload.in);
}

void settle_stages(prediction& p) {
  if (p.asked.layout.stages.empty() || !p.layout.empty()) return;
  p.layout = megatron_letters(p.asked.layout.stages);
  p.asked.layout.counts_ends = false;
}

}  // namespace tool
