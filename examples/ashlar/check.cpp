// ashlar check: whether a compute-only CSV is a schedule that runs to its end.
#include "command.hpp"
#include "counted.hpp"
#include "files.hpp"
#include "limits.hpp"
#include <ashlar/check_schedule.hpp>
#include <ashlar/interop/pytorch_csv.hpp>
#include <ashlar/lower.hpp>
#include <ashlar/metrics.hpp>
#include <ashlar/prove.hpp>
#include <ashlar/render/diagnosis.hpp>

#include <fmt/core.h>

#include <memory>
#include <string>

namespace tool {

namespace {

struct check_options {
  std::string file;
  bool idle_slots = false;
};

void must_be_small(std::string const& file, ashlar::schedule const& s) {
  long long passes = 0;
  for (auto const& order : s.order) passes += static_cast<long long>(order.size());
  if (s.device_count() > most_devices || passes > most_passes)
    throw usage_error(fmt::format("'{}' has {} devices and {} passes; the limits are {} and {}", file,
                                  s.device_count(), passes, most_devices, most_passes));
}

int check(check_options const& o) {
  using namespace ashlar;
  std::string const text = read_text(o.file);
  csv_schedule const read = read_pytorch_csv(text, {.idle_slots = o.idle_slots});
  if (!read.value) {
    for (csv_problem const& p : read.problems) fmt::print("{}: {}\n", o.file, to_string(p));
    fmt::print("{}: invalid\n", o.file);
    return invalid;
  }
  schedule const& s = *read.value;
  must_be_small(o.file, s);
  if (diagnosis const d = ashlar::check(s); !d.ok()) {
    fmt::print("{}: {}\n{}: invalid\n", o.file, explain(d, s), o.file);
    return invalid;
  }
  program const lowered = lower(s);
  if (diagnosis const d = ashlar::check(lowered); !d.ok()) {
    fmt::print("{}: {}\n{}: the schedule is valid, its program is not\n", o.file, explain(d, lowered),
               o.file);
    return invalid;
  }
  fmt::print("{}: valid: {}, {}, {}, {}, makespan {} for unit passes\n", o.file,
             counted(s.device_count(), "device"), counted(s.stage_count(), "stage"),
             counted(s.micro_batch_count(), "micro-batch"), counted(s.where.route_count(), "route"),
             makespan(s));
  fmt::print("{}: its program of {} is complete, ordered, deadlock-free and memory-safe\n", o.file,
             counted(static_cast<long long>(lowered.instructions.size()), "instruction"));
  return done;
}

}  // namespace

void add_check(CLI::App& app, action& chosen) {
  auto* const command =
      app.add_subcommand("check", "Check a compute-only CSV, and prove the program that it makes");
  auto const options = std::make_shared<check_options>();
  command->add_option("file", options->file, "the CSV; - is standard input")
      ->required()
      ->type_name("FILE");
  command->add_flag("--idle-slots", options->idle_slots,
                    "let empty cells be idle slots, as PyTorch writes them");
  command->footer(
      "The format: a line a device, the device's passes in order, separated by commas without blanks;\n"
      "a pass is stage, kind, micro-batch: 2F0. Kinds: F forward, I backward input, W backward weight,\n"
      "B fused backward, R recompute.\n"
      "Exit codes: 0 valid, 1 invalid (with the reasons), 2 the file cannot be used.");
  command->callback([&chosen, options] { chosen = [options] { return check(*options); }; });
}

}  // namespace tool
