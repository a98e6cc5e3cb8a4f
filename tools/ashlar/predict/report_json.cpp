// The report of a prediction as JSON.
#include "predict/choices.hpp"
#include "predict/machines.hpp"
#include "predict/report.hpp"
#include "predict/report_words.hpp"
#include "report/proved_gap.hpp"

#include <nlohmann/json.hpp>

namespace tool {

namespace {

using ashlar::cost::memory_parts;
using ashlar::cost::question;

double utilisation(prediction const& p) {
  return p.answer.flops_per_device(p.asked)
         / mean_peak(p.asked.cluster, ashlar::cost::number_format::bf16);
}

// The kind of device; of several, the cluster.
std::string machine_words(ashlar::cost::cluster const& c) {
  return c.has_several_kinds() ? name_of(c) : c.kinds.front().name;
}

std::string program_name(prediction const& p) {
  ashlar::cost::program_kind const program = stack_of(p.asked).program;
  return program == ashlar::cost::program_kind::sharded ? "fsdp" : word_for(stack_choices, program);
}

nlohmann::ordered_json interval_json(double low, double high, ashlar::cost::spread const& s) {
  return {{"low", low},
          {"high", high},
          {"share", 0.9},
          {"runs", s.runs},
          {"sources", s.sources},
          {"within_a_source", s.within},
          {"between_sources", s.between},
          {"own_runs", s.own_runs}};
}

}  // namespace

std::string json_of(prediction const& p) {
  using ordered = nlohmann::ordered_json;
  question const& q = p.asked;
  auto const& a = p.answer;
  ordered terms, memory = ordered::array();
  for (named_term const& t : terms_of(p)) terms[t.name] = t.seconds;
  for (memory_parts const& m : a.memory) {
    ordered one;
    for (auto const& [name, part] : memory_names) one[name] = m.*part;
    one["host"] = m.host;
    memory.push_back(one);
  }
  double const tokens = a.tokens_per_second(q);
  ordered root{
      {"model", p.model.name},
      {"parameters", parameters(q.model)},
      {"active_parameters", active_parameters(q.model)},
      {"trained_parameters", trained_parameters(q.model)},
      {"prediction_parameters", prediction_parameters(q.model)},
      {"machine", machine_words(q.cluster)},
      {"cluster", name_of(q.cluster)},
      {"devices", q.cluster.device_count()},
      {"options", options_of(p)},
      {"data", q.layout.data},
      {"step_seconds", a.step.seconds},
      {"interval", nullptr},
      {"kind_of_run", name_of(a.kind)},
      {"program", program_name(p)},
      {"tokens_per_second", tokens},
      {"tokens_per_second_per_device", tokens / q.cluster.device_count()},
      {"tflops_per_device", a.flops_per_device(q) / 1e12},
      {"utilisation", utilisation(p)},
      {"longest_device", a.step.device},
      {"terms", terms},
      {"peak_bytes", proved_bytes(a.peak)},
      {"peak_bytes_last", a.peak_of_last},
      {"device_bytes", a.capacity},
      {"peak_host_bytes", a.peak_on_host},
      {"fits", a.fits},
      {"fit", fit_word(p)},
      {"peak_interval", nullptr},
      {"memory", memory},
      {"notes", remarks_on(p)},
  };
  if (a.has_interval())
    root["interval"] = interval_json(a.low, a.high, steps_around(p));
  else
    root["no_interval"] = gap_words(p);
  if (a.has_peak_interval)
    root["peak_interval"] = interval_json(a.low_peak, a.high_peak, peaks_around(p));
  for (decisive_fact const& each : p.decisive) root["decisive_facts"][each.fact] = each.seconds;
  if (!a.beyond.empty()) root["beyond_the_data"] = beyond_words(p);
  if (p.layouts.tried > 0) {
    ordered best = ordered::array();
    for (neighbour const& n : p.layouts.best)
      best.push_back({{"options", n.change}, {"step_seconds", n.seconds}, {"peak_bytes", n.peak}});
    root["layouts"] = {{"tried", p.layouts.tried}, {"too_large", p.layouts.too_large}, {"best", best}};
  }
  if (!a.every_stage_works) root["reason"] = "stages without work";
  return root.dump(1) + "\n";
}

}  // namespace tool
