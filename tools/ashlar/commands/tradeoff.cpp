// ashlar tradeoff: the cost of a training by schedule, over batch and cluster sizes.
#include "command.hpp"
#include "files/files.hpp"
#include "options/limits.hpp"
#include "options/output_options.hpp"
#include "options/theme_option.hpp"
#include "report/certificates.hpp"
#include "report/printed.hpp"
#include "report/table.hpp"
#include "report/tradeoff_certificate.hpp"
#include "report/tradeoff_study.hpp"
#include <ashlar/render/tradeoff.hpp>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <memory>
#include <string>
#include <vector>

namespace tool {

namespace {

struct tradeoff_options {
  std::string model, cluster;
  std::string format = "text";
  ashlar::picture_theme theme = ashlar::picture_theme::follow_reader;
  std::string output = "-", certificate;
};

void print_text(std::vector<studied_schedule> const& all) {
  std::vector<std::vector<std::string>> cells{{"schedule", "loops", "devices", "samples per device",
                                               "utilisation", "at most", "gap %", "cost", "time"}};
  for (studied_schedule const& s : all)
    for (operating_point const& p : s.best)
      cells.push_back({s.name, std::to_string(p.choice.loops.value), std::to_string(p.device_count),
                       fmt::format("{:g}", p.batch), fmt::format("{:.3f}", p.utilisation),
                       p.most ? fmt::format("{:.3f}", *p.most) : "-", p.most ? percent(p.gap(), 1) : "-",
                       fmt::format("{:.3f}", p.cost), fmt::format("{:.3g}", p.time)});
  fmt::print("{}", table(cells, 1));
  fmt::print(
      "\nFor each cluster the batch and the loops of least cost. Cost 1: no idle time and no sample "
      "wasted.\nAt most: the utilisation of any schedule of the same stages on the same devices with "
      "the "
      "same memory\n(-: chains of stages only); gap: by how much of it that would shorten "
      "step, cost and time.\n");
}

nlohmann::json json_of(operating_point const& p) {
  nlohmann::json object{
      {"loops", p.choice.loops.value}, {"samples_a_device", p.batch}, {"utilisation", p.utilisation}};
  if (p.most) {
    object["utilisation_bound"] = *p.most;
    object["gap"] = p.gap();
  }
  return object;
}

nlohmann::json json_of(std::vector<studied_schedule> const& all) {
  nlohmann::json out = nlohmann::json::array();
  for (studied_schedule const& s : all) {
    nlohmann::json curves = nlohmann::json::array(), best = nlohmann::json::array();
    for (operating_point const& p : s.points) curves.push_back(json_of(p));
    for (operating_point const& p : s.best) {
      auto& object = best.emplace_back(json_of(p));
      object["devices"] = p.device_count;
      object["cost"] = p.cost;
      object["time"] = p.time;
      if (!p.most) continue;
      object["cost_bound"] = p.cost / (1 + p.gap());
      object["time_bound"] = p.time / (1 + p.gap());
    }
    out.push_back({{"schedule", s.name}, {"utilisation", curves}, {"best", best}});
  }
  return out;
}

std::string chart_of(std::vector<studied_schedule> const& all, std::string const& title,
                     ashlar::picture_theme theme) {
  std::vector<ashlar::tradeoff_curve> curves;
  for (studied_schedule const& s : all) {
    ashlar::tradeoff_curve& c = curves.emplace_back(ashlar::tradeoff_curve{s.name, {}, {}, {}});
    for (operating_point const& p : s.upper) c.utilisation.emplace_back(p.batch, p.utilisation);
    for (operating_point const& p : s.best) {
      c.cost.emplace_back(p.time, p.cost);
      c.clusters.push_back(p.device_count);
    }
  }
  return ashlar::svg(curves, title, theme);
}

int tradeoff(CLI::App const& command, tradeoff_options const& o) {
  must_have_effect(command, effects_of_theme(o.format));
  if (o.format == "text" && o.output != "-")
    throw usage_error("the table as text goes to standard output; take --as json for a file");
  output const to(o.output);
  certificates proofs(o.certificate);
  tradeoff_study const study = read_study(o.model, o.cluster);
  std::vector<studied_schedule> all = run(study);
  for (studied_schedule& s : all) {
    if (o.format != "svg") find_bounds(study, s.best);
    if (o.format == "json") find_bounds(study, s.points);
  }
  if (o.format == "text")
    print_text(all);
  else
    to.write(o.format == "json" ? dumped(json_of(all), 1) + "\n" : chart_of(all, study.title, o.theme));
  if (o.certificate.empty()) return done;
  for (studied_schedule const& s : all) certify(proofs, study, s);
  return proofs.write();
}

}  // namespace

void add_tradeoff(CLI::App& app, action& chosen) {
  auto* const command =
      app.add_subcommand("tradeoff", "Compare utilisation, cost and training time at cluster scale");
  auto const o = std::make_shared<tradeoff_options>();
  command->add_option("--model", o->model, "model, as JSON (docs/formats.md)")
      ->required()
      ->type_name("FILE");
  command->add_option("--cluster", o->cluster, "cluster, as JSON (docs/formats.md)")
      ->required()
      ->type_name("FILE");
  add_format_option(*command, o->format, {"text", "json", "svg"}, "text, json, or svg: the curves");
  add_theme_options(*command, o->theme);
  add_output_option(*command, o->output);
  add_certificate_option(*command, o->certificate);
  command->footer(
      "The larger the batch on each device, the smaller its bubbles; the larger the batch of the whole "
      "cluster,\n"
      "the more samples a training takes: cost ~ (1 + batch / critical batch) / utilisation, time ~ "
      "cost / devices.");
  command->callback([&chosen, command, o] { chosen = [command, o] { return tradeoff(*command, *o); }; });
}

}  // namespace tool
