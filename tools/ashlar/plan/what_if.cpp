#include "plan/what_if.hpp"

#include "command.hpp"
#include "predict/layout_words.hpp"
#include "report/interrupt_watch.hpp"
#include "report/table.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace tool {

namespace {

using ashlar::cost::cluster;
using ashlar::cost::device_kind;
using ashlar::cost::layout;

constexpr double no_limit = 1e6;  // times a device's memory

class asker {
 public:
  asker(predicted_request const& r, predicted_study const& s)
      : asked_(s.asked.asked), first_(s.plans[0]) {
    base_ = r;
    base_.top = 1;
    base_.search = 0;
    base_.shares_batch = false;
  }

  std::vector<what_if> ask_all() {
    cluster const& c = asked_.cluster;
    int domain = 1;
    for (device_kind const& each : c.kinds)
      domain = std::max({domain, each.device.domain, each.device.per_node});
    ask_sizes("tensor", &layout::tensor, std::min(domain, c.device_count()));
    ask_sizes("pipeline", &layout::pipeline, std::min(asked_.model.layer_count(), c.device_count()));
    for (int kind = 0; c.has_several_kinds() && kind < static_cast<int>(c.kinds.size()); ++kind)
      ask_on(c.kinds[static_cast<std::size_t>(kind)].name + " alone", of_kinds(c, {kind}));
    ask_with("10 % more memory", [](device_kind& each) { each.device.memory_bytes *= 1.1; });
    ask_with("no limit on memory", [](device_kind& each) { each.device.memory_bytes *= no_limit; });
    if (c.device_count() > 1)
      ask_with("links twice as fast inside domains", [](device_kind& each) { each.device.inside *= 2; });
    if (has_several_nodes(c)) {
      cluster faster = c;
      faster.between_kinds *= 2;
      for (device_kind& each : faster.kinds) each.device.outside *= 2;
      ask_on("links twice as fast between domains", faster);
    }
    return std::move(all_);
  }

 private:
  void ask_sizes(std::string const& name, int layout::*size, int most) {
    if (base_.given.count(name) > 0) return;
    for (int n = 1; n <= most && n <= 1 << 20; n *= 2) {
      if (first_.run.asked.layout.*size == n) continue;
      predicted_request r = base_;
      r.given[name] = fmt::format("{}", n);
      ask(fmt::format("{} {}", name, n), r);
    }
  }
  template <class Change>
  void ask_with(std::string const& words, Change change) {
    cluster changed = asked_.cluster;
    for (device_kind& each : changed.kinds) change(each);
    ask_on(words, changed);
  }
  void ask_on(std::string const& words, cluster const& on) {
    predicted_request r = base_;
    r.on = on;
    ask(words, r);
  }
  void ask(std::string const& words, predicted_request const& r) {
    if (interrupt_watch::has_come()) return;
    std::optional<predicted_plan> best;
    try {
      predicted_study made = study_of(r);
      if (!made.found.is_whole) return;
      if (!made.plans.empty()) best = std::move(made.plans[0]);
    } catch (usage_error const&) {  // no layout is possible
    }
    all_.push_back({words, std::move(best)});
  }

  ashlar::cost::question const& asked_;
  predicted_plan const& first_;
  predicted_request base_;
  std::vector<what_if> all_;
};

std::string layout_words(predicted_plan const& p) {
  std::string words = fmt::format("{} --schedule {}", rank_options(p.run.asked), schedule_word(p.run));
  if (std::string const again = recompute_word(p.run.asked); again != "none")
    words += " --recompute " + again;
  return words;
}

}  // namespace

std::vector<what_if> what_ifs_of(predicted_request const& r, predicted_study const& s) {
  interrupt_watch const watch;
  return asker(r, s).ask_all();
}

std::string what_if_text(predicted_study const& s) {
  if (s.what_ifs.empty()) return {};
  double const first = s.plans[0].run.answer.step.seconds;
  std::vector<std::vector<std::string>> rows{{"with", "step s", "change %", "GiB", "layout"}};
  for (what_if const& each : s.what_ifs) {
    if (!each.best) {
      rows.push_back({each.change, "-", "-", "-", "nothing fits"});
      continue;
    }
    auto const& answer = each.best->run.answer;
    rows.push_back({each.change, fmt::format("{:.3f}", answer.step.seconds),
                    fmt::format("{:+.1f}", 100 * (answer.step.seconds / first - 1)),
                    fmt::format("{:.1f}", answer.peak / (1 << 30)), layout_words(*each.best)});
  }
  return fmt::format(
      "\nWhy: the best plan of the same question, changed in one point. The first takes {:.3f} s.\n\n{}",
      first, table(rows, 1));
}

nlohmann::ordered_json what_if_json(predicted_study const& s) {
  nlohmann::ordered_json made = nlohmann::ordered_json::array();
  for (what_if const& each : s.what_ifs) {
    nlohmann::ordered_json row{{"change", each.change}, {"seconds", nullptr}};
    if (each.best)
      row.update({{"seconds", each.best->run.answer.step.seconds},
                  {"bytes", each.best->run.answer.peak},
                  {"options", options_of(each.best->run)}});
    made.push_back(row);
  }
  return made;
}

}  // namespace tool
