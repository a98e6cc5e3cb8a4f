#include "report/certificates.hpp"

#include "report/layout_names.hpp"
#include "report/printed.hpp"
#include <ashlar/interop/program_certificate.hpp>

#include <fmt/core.h>

namespace tool {

void add_certificate_option(CLI::App& command, std::string& path) {
  command
      .add_option(
          "--certificate", path,
          "where to write what `python3 -m ashlar_verify` needs to check the claims without this "
          "tool. Exit code 4: a claim has no certificate")
      ->type_name("OUT");
}

certificates::certificates(std::string const& path) {
  if (path == "-") throw usage_error("--certificate needs a file: standard output has the claims");
  if (!path.empty()) to_.emplace(path);
}

void certificates::add(std::string const& certificate) {
  if (!to_) return;
  all_ += (all_.empty() ? "\n" : ",\n") + certificate;
}

void certificates::refuse(std::string const& what, std::string const& why) {
  missing_ += fmt::format("ashlar: no certificate for {}: {}\n", printable(what), why);
}

void certificates::add(ashlar::program const& p, std::string const& name) {
  if (!to_) return;
  if (std::string const why = ashlar::certificate_obstacle(p); !why.empty())
    return refuse("the program of " + name, why);
  add(ashlar::program_certificate(p, name));
}

void certificates::add(ashlar::schedule const& s, std::string const& name, time_scale const& scale,
                       std::vector<ashlar::claimed_bound> const& bounds) {
  if (!to_) return;
  if (std::string const why = ashlar::certificate_obstacle(s); !why.empty()) return refuse(name, why);
  ashlar::schedule_certificate const made = ashlar::certificate_of(s, name, scale, bounds);
  for (ashlar::claimed_bound const& b : made.without_argument)
    refuse(fmt::format("the bound {} of the {} of {}", b.least, b.is_span ? "span" : "makespan", name),
           "it takes more than the arguments that can be checked");
  add(made.json);
}

void certificates::add(ashlar::schedule const& s, std::string const& name, time_scale const& scale) {
  if (!to_) return;
  std::vector<ashlar::claimed_bound> bounds;
  if (ashlar::has_workload(s)) {
    ashlar::workload const w = ashlar::workload_of(s);
    ashlar::bound const least = ashlar::workload_bound(w);
    bounds = {{w, least.makespan, false}, {w, least.span, true}};
  } else if (std::optional<ashlar::bound> const least = ashlar::schedule_bound(s)) {
    bounds = {{{}, least->makespan, false}, {{}, least->span, true}};
  }
  add(s, name, scale, bounds);
}

void certificates::add(ashlar::comparison const& c, std::string const& name, time_scale const& model) {
  add(c.made, name, {ashlar::saturating_product(c.unit, model.ticks_per_unit), model.unit});
}

void certificates::add(ashlar::searched_layout const& s, time_scale const& model) {
  std::string const name = layout_name(s.choice);
  bool const is_of_times = s.aim == ashlar::objective::span || s.aim == ashlar::objective::makespan;
  if (!is_of_times || !ashlar::is_of_a_chain(s.choice.problem))
    return refuse(name, "its bound is of programs, or of stages that form no chain");
  add(s.result.best, name, {s.choice.unit, model.unit},
      {{ashlar::workload_of(s.choice.problem), s.least(), s.aim == ashlar::objective::span}});
}

int certificates::write() const {
  if (!to_) return done;
  to_->write("{\"ashlar_certificates\":1,\"certificates\":[" + all_ + "]}\n");
  fmt::print(stderr, "{}", missing_);
  return missing_.empty() ? done : uncertified;
}

}  // namespace tool
