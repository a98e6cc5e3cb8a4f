#include "predict/report.hpp"

#include "predict/choices.hpp"
#include "predict/facts_choice.hpp"
#include "predict/machines.hpp"
#include "predict/report_words.hpp"
#include "predict/tower_choice.hpp"
#include "report/proved_gap.hpp"
#include "report/table.hpp"
#include <ashlar/cost/model/adapted_matrices.hpp>
#include <ashlar/cost/question/stage_devices.hpp>

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <utility>

namespace tool {

namespace {

using ashlar::cost::memory_parts;
using ashlar::cost::question;

char const* program_words(prediction const& p) {
  using ashlar::cost::program_kind;
  switch (stack_of(p.asked).program) {
    case program_kind::recipe:
      return "Megatron-Core in a recipe of NeMo or Megatron-Bridge";
    case program_kind::plain:
      return "a plain PyTorch program, little fused or overlapped";
    case program_kind::classic:
      return "Megatron of 2021, attention unfused and nothing overlapped";
    case program_kind::sharded:
      return "fully sharded (FSDP)";
    case program_kind::torchtitan:
      return "torchtitan, not compiled";
    default:
      return "Megatron-Core with Transformer Engine, as Megatron-LM runs it by default";
  }
}

// The spread of errors on such runs, in percent, and how many there were.
std::string spread_words(ashlar::cost::spread const& s, char const* runs) {
  return fmt::format("{} {} of {} {}, {:.0f} % apart within a source and {:.0f} % between sources",
                     s.runs, runs, s.sources, s.sources == 1 ? "source" : "sources", 100 * s.within,
                     100 * s.between);
}

// Whose runs an interval is of.
char const* runs_words(ashlar::cost::spread const& s) {
  return s.own_runs > 0 ? "runs like your own" : "runs of sources never seen";
}

std::string spread_words(ashlar::cost::spread const& s) {
  if (s.own_runs == 0) return spread_words(s, "runs");
  return fmt::format("{} of your own, {:.0f} % apart; other doubts are about constants", s.own_runs,
                     100 * s.within);
}

constexpr char const* fit_words[] = {"fits", "should fit", "should not fit", "does not fit"};

// A table in which devices with equal memory share a line: "3-14".
std::string memory_table(prediction const& p) {
  std::vector<std::string> head{"device"};
  std::vector<memory_parts> const& all = p.answer.memory;
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < memory_names.size(); ++i) {
    double most = 0;
    for (memory_parts const& each : all)
      if (each.*memory_names[i].second > most) most = each.*memory_names[i].second;
    if (most > 0) shown.push_back(i);
  }
  for (std::size_t i : shown) head.emplace_back(memory_names[i].first);
  head.emplace_back("all, GiB");
  bool const has_host = p.answer.peak_on_host > 0;
  if (has_host) head.emplace_back("on the host");
  std::vector<std::vector<std::string>> rows{head};
  auto const cells = [&](memory_parts const& m) {
    std::vector<std::string> row;
    for (std::size_t i : shown) row.push_back(gibibytes(m.*memory_names[i].second));
    row.push_back(gibibytes(m.all()));
    if (has_host) row.push_back(gibibytes(m.host));
    return row;
  };
  for (std::size_t d = 0; d < all.size();) {
    std::size_t last = d;
    while (last + 1 < all.size() && cells(all[last + 1]) == cells(all[d])) ++last;
    std::vector<std::string> row{last == d ? fmt::format("{}", d) : fmt::format("{}-{}", d, last)};
    for (std::string const& cell : cells(all[d])) row.push_back(cell);
    rows.push_back(row);
    d = last + 1;
  }
  return table(rows);
}

std::string terms_table(prediction const& p, bool explains) {
  std::vector<std::vector<std::string>> rows{{"where the time goes", "time", "share", "what"}};
  if (explains) rows[0].emplace_back("formula");
  for (named_term const& t : terms_of(p)) {
    if (!(t.seconds > 0)) continue;
    rows.push_back({t.name, seconds_words(t.seconds),
                    percent(t.seconds / p.answer.step.seconds, 1) + " %", t.meaning});
    if (explains) rows.back().emplace_back(t.formula);
  }
  std::string text;
  std::array<std::size_t, 3> width{};
  for (auto const& row : rows)
    for (std::size_t i = 0; i < 3; ++i)
      if (row[i].size() > width[i]) width[i] = row[i].size();
  for (auto const& row : rows) {
    text += fmt::format("{:<{}}  {:>{}}  {:>{}}  {}\n", row[0], width[0], row[1], width[1], row[2],
                        width[2], row[3]);
    if (explains && &row != &rows[0]) text += fmt::format("{:<{}}    = {}\n", "", width[0], row[4]);
  }
  return text;
}

// A table of the best layouts, and how many were tried.
std::string layouts_table(tried_layouts const& l) {
  std::string text = fmt::format("{} layouts were tried; {} of them do not fit\n", l.tried, l.too_large);
  if (l.best.empty()) return text + "None fits; the smallest:\n\n";
  text += fmt::format("{:>8}  {:>9}  {}\n", "step", "peak, GiB", "layout");
  for (neighbour const& n : l.best)
    text += fmt::format("{:>8}  {:>9}  {}\n", seconds_words(n.seconds), gibibytes(n.peak), n.change);
  return text + "\nThe first:\n\n";
}

}  // namespace

std::string seconds_words(double s) {
  if (s >= 100) return fmt::format("{:.0f} s", s);
  if (s >= 10) return fmt::format("{:.1f} s", s);
  if (s >= 1) return fmt::format("{:.2f} s", s);
  return fmt::format("{:.1f} ms", 1e3 * s);
}

std::string gibibytes(double bytes) { return fmt::format("{:.1f}", proved_bytes(bytes) / (1 << 30)); }

std::string fit_word(prediction const& p) {
  return fit_words[static_cast<std::size_t>(p.answer.memory_fit)];
}

std::vector<std::string> remarks_on(prediction const& p) {
  std::vector<std::string> all;
  if (!p.model.left_out.empty())
    all.push_back(fmt::format("without {}{}", p.model.left_out,
                              p.asked.model.towers.empty() ? ": the decoder alone" : ""));
  std::vector<std::string> const towers = remarks_on_towers(p);
  all.insert(all.end(), towers.begin(), towers.end());
  if (!p.not_read.empty()) all.push_back("not read: " + p.not_read);
  all.insert(all.end(), p.notes.begin(), p.notes.end());
  if (!p.not_known.empty())
    all.push_back("not known, and may change this, so there is no interval: " + p.not_known);
  return all;
}

// Names of parts that train beside adapters of the decoder, with the sum.
inline std::string beside_words(ashlar::cost::architecture const& a) {
  bool has_tables = a.trains_embedding() || a.trains_head(), has_towers = false;
  for (ashlar::cost::tower const& each : a.towers) has_towers = has_towers || a.trains(each);
  if (!has_tables && !has_towers) return "";
  return fmt::format(", with {}{}{}: {}", has_tables ? "tables or a head" : "",
                     has_tables && has_towers ? ", and " : "",
                     has_towers ? "parts before the decoder" : "", count_words(trained_parameters(a)));
}

// The meaning of the number of `--lora`.
inline std::string size_words(ashlar::cost::adapters const& lora) {
  using enum ashlar::cost::adapter_kind;
  switch (lora.kind) {
    case rotations:
    case blocks_of_weights:
    case butterflies:
      return fmt::format("blocks of {}", lora.rank);
    case factors:
      return "factors";
    case spectrum:
      return fmt::format("{} numbers", lora.rank);
    default:
      return fmt::format("rank {}", lora.rank);
  }
}

std::string text_of(prediction const& p, bool explains) {
  question const& q = p.asked;
  auto const& a = p.answer;
  std::string text = p.layouts.tried > 0 ? layouts_table(p.layouts) : "";
  text += fmt::format("{}: {} parameters, {} for a token\n", p.model.name,
                      count_words(parameters(q.model)), count_words(active_parameters(q.model)));
  if (q.model.lora.are_any())
    text += fmt::format("  and {} of adapters of {}, which alone train{}\n",
                        count_words(adapter_parameters(q.model)), size_words(q.model.lora),
                        beside_words(q.model));
  else if (q.model.freezes_any())
    text += fmt::format("  {} of them train\n", count_words(trained_parameters(q.model)));
  if (q.model.predictions > 0)
    text += fmt::format("  and {} of {} that predict further tokens\n",
                        count_words(prediction_parameters(q.model)), q.model.predictions);
  for (auto const& teacher : q.teachers)
    text += fmt::format("  beside a teacher of {} parameters, {} for a token\n",
                        count_words(parameters(teacher)), count_words(active_parameters(teacher)));
  for (std::string const& note : remarks_on(p)) text += fmt::format("  {}\n", note);
  text += fmt::format("{}, {}\n{}\n\n", name_of(q.cluster), word_for(format_choices, q.program.format),
                      options_of(p));

  if (!a.every_stage_works)
    text += fmt::format("It does not run: {} layers leave some of the {} stages without work\n",
                        q.model.layer_count(), stage_count(q));
  if (a.has_interval()) {
    ashlar::cost::spread const& around = steps_around(p);
    text +=
        fmt::format("{} a step; nine of ten {} were within {} to {}\n", seconds_words(a.step.seconds),
                    runs_words(around), seconds_words(a.low), seconds_words(a.high));
    text += fmt::format("  of this kind: {}; {}\n", name_of(a.kind), spread_words(around));
    if (!a.beyond.empty())
      text +=
          fmt::format("  wider, because no published run has: {}\n", fmt::join(beyond_words(p), "; "));
    text += fmt::format("  taken to be {}\n", program_words(p));
  } else {
    text += fmt::format("{} a step{}\n", seconds_words(a.step.seconds),
                        a.every_stage_works ? "; " + gap_words(p) : " if it ran");
    text += fmt::format("  taken to be {}\n", program_words(p));
  }
  for (decisive_fact const& each : p.decisive)
    text += fmt::format("  with --fact {}: {}\n", each.fact, seconds_words(each.seconds));
  double const tokens = a.tokens_per_second(q);
  text += fmt::format("{} tokens/s, {} a device", readable(tokens),
                      readable(tokens / q.cluster.device_count()));
  if (!q.model.has_measured_layers())
    text +=
        fmt::format("; {:.0f} TFLOP/s a device, {} % of its peak in {}", a.flops_per_device(q) / 1e12,
                    percent(a.flops_per_device(q) / mean_peak(q.cluster, q.program.format), 1),
                    word_for(format_choices, q.program.format));
  text += "\n";
  if (a.every_stage_works)
    text += fmt::format("It {}: {} GiB of {} GiB on the fullest device, {} GiB must stay free\n",
                        fit_word(p), gibibytes(a.peak), gibibytes(a.capacity),
                        gibibytes(p.constants.values.outside_bytes));
  if (a.has_peak_interval)
    text += fmt::format("  nine of ten peaks of sources never seen were within {} to {} GiB\n    {}\n",
                        gibibytes(a.low_peak), gibibytes(a.high_peak),
                        spread_words(peaks_around(p), "peaks"));
  if (a.peak_on_host > 0)
    text += fmt::format("  and {} GiB of {} GiB of a device's share of its host\n",
                        gibibytes(a.peak_on_host), gibibytes(q.cluster.device().host.memory_bytes));

  text += fmt::format("\n{}", terms_table(p, explains));
  if (explains) text += fmt::format("\n{}", facts_table(p));
  text += fmt::format("\n{}", memory_table(p));
  if (!p.better.empty()) {
    text += a.fits ? "\nWhat to change first:\n" : "\nWhat fits:\n";
    for (neighbour const& n : p.better)
      text += fmt::format("  {}: {} ({:+.0f} %), {} GiB\n", n.change, seconds_words(n.seconds),
                          100 * (n.seconds / a.step.seconds - 1), gibibytes(n.peak));
  } else if (has_neighbours(p) && p.layouts.tried == 0) {
    text += a.fits ? "\nNo change of one or two sizes by 2 makes it faster.\n"
                   : "\nNo change of one or two sizes by 2 makes it fit.\n";
  }
  return text;
}

}  // namespace tool
