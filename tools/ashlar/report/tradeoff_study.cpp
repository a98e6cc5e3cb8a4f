#include "report/tradeoff_study.hpp"

#include "command.hpp"
#include "files/json_object.hpp"
#include "options/limits.hpp"
#include "options/shape_options.hpp"
#include "report/counted.hpp"
#include <ashlar/bounds/workload.hpp>
#include <ashlar/render/diagnosis.hpp>
#include <ashlar/schedule/repeat.hpp>
#include <ashlar/schedule/squeeze.hpp>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

namespace tool {

namespace {

constexpr long long most_ticks = 1'000'000'000;
constexpr std::size_t most_points = 10'000;

// Every schedule is made for every number of loops and micro-batches, and the best weighed for every
// cluster.
void must_be_few(json_object const& file, tradeoff_study const& s) {
  std::size_t const made = s.schedules.size() * s.loops.size() * s.micro_batches.size();
  if (made > most_points)
    file.fail(
        fmt::format("asks for {} schedules ({} of {} loops and {} micro-batches each); the limit is {}",
                    made, s.schedules.size(), s.loops.size(), s.micro_batches.size(), most_points));
  if (s.clusters.size() > most_points)
    file.fail(fmt::format("asks for {} clusters; the limit is {}", s.clusters.size(), most_points));
}

bool can_be_of(chosen_schedule const& own, int m) {
  return own.block ? m % own.block->micro_batch_count() == 0 : micro_batches_of(own.schedule) == m;
}

ashlar::schedule of_size(chosen_schedule const& own, int m) {
  if (!own.block) return own.schedule;
  return *own.block | ashlar::repeat(ashlar::micro_batches{m}) | ashlar::squeeze();
}

}  // namespace

tradeoff_study read_study(std::string const& model_file, std::string const& cluster_file) {
  tradeoff_study study;
  json_object model(model_file);
  study.title = model.word("name", "model");
  study.model = {.layers = static_cast<int>(model.number("layers", 1, 100'000)),
                 .forward = model.number("forward", 1, most_ticks),
                 .backward = model.number("backward", 2, most_ticks),
                 .transfer = model.number("transfer", 0, most_ticks, 0),
                 .reduction = model.number("reduction", 0, most_ticks, 0),
                 .micro_batch = static_cast<int>(model.number("micro_batch", 1, 1'000'000, 1))};
  study.critical_batch = static_cast<double>(model.number("critical_batch", 1, most_ticks));
  model.must_be_all();

  json_object cluster(cluster_file);
  study.title += ", " + cluster.word("name", "cluster");
  study.pipeline = static_cast<int>(cluster.number("pipeline", 1, most_devices));
  study.loops = cluster.numbers("loops", 1, most_devices);
  study.micro_batches = cluster.numbers("micro_batches", 1, most_micro_batches);
  study.clusters = cluster.numbers("devices", 1, most_ticks);
  for (std::string const& name : cluster.words("schedules", false)) {
    studied_name& s = study.schedules.emplace_back();
    if (!names_file(name)) {
      s.entry = &entry_named(name);
      continue;
    }
    s.own = choose_file(name, 0, {});
    if (int const p = s.own->schedule.device_count(); p != study.pipeline)
      cluster.fail(fmt::format("has pipelines of {}, but '{}' is for {}", study.pipeline, name,
                               counted(p, "device")));
  }
  study.blocking = cluster.words("blocking", true);
  cluster.must_be_all();
  must_be_few(cluster, study);
  for (int n : study.clusters)
    if (n % study.pipeline != 0)
      cluster.fail(fmt::format("has a cluster of {} devices, which pipelines of {} do not fill", n,
                               study.pipeline));
  return study;
}

std::vector<studied_schedule> run(tradeoff_study const& study) {
  std::vector<studied_schedule> all;
  for (studied_name const& named : study.schedules) {
    studied_schedule& s = all.emplace_back();
    s.name = named.name();
    bool const blocks =
        std::find(study.blocking.begin(), study.blocking.end(), s.name) != study.blocking.end();
    std::vector<int> loops = study.loops;
    if (named.own)
      loops = {ashlar::chunk_count(named.own->schedule.where, 0)};
    else if (!named.entry->uses(ashlar::parameter::chunk_count))
      loops = {1};
    std::map<double, operating_point> upper;
    for (int v : loops)
      for (int m : study.micro_batches) {
        ashlar::pipeline_choice choice{named.entry, ashlar::devices{study.pipeline}, ashlar::chunks{v},
                                       ashlar::micro_batches{m}, blocks};
        if (2LL * study.pipeline * v * m > most_passes)
          throw usage_error(fmt::format("{} with {} loops of {} micro-batches has more than {} passes",
                                        s.name, v, m, most_passes));
        if (named.own) {
          if (!can_be_of(*named.own, m)) continue;
          choice.own = &s.own.emplace_back(of_size(*named.own, m));
        } else if (!named.entry->check({.p = choice.p, .m = choice.m, .v = choice.loops}).ok()) {
          continue;
        }
        operating_point const p{.choice = choice,
                                .batch = batch_per_device(study.model, choice),
                                .utilisation = proved_share(utilisation(study.model, choice))};
        s.points.push_back(p);
        auto const found = upper.emplace(p.batch, p).first;
        if (found->second.utilisation < p.utilisation) found->second = p;
      }
    for (auto const& [batch, p] : upper) s.upper.push_back(p);
    for (int n : study.clusters) {
      operating_point best;
      for (operating_point p : s.upper) {
        p.device_count = n;
        p.cost = ashlar::training_cost(p.utilisation, p.batch, n, study.critical_batch);
        p.time = ashlar::training_time(p.cost, n);
        if (best.device_count == 0 || p.cost < best.cost) best = p;
      }
      if (best.device_count != 0) s.best.push_back(best);
    }
  }
  return all;
}

void find_bounds(tradeoff_study const& study, std::vector<operating_point>& points) {
  for (operating_point& p : points)
    if (auto const least = least_step_time(study.model, p.choice))
      p.most = proved_share(utilisation_of(study.model, p.choice, *least));
}

}  // namespace tool
