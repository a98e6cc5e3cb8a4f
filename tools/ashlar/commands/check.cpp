// ashlar check: whether a schedule, or a CSV with all communication, runs to its end.
#include "command.hpp"
#include "files/files.hpp"
#include "files/flight_record_files.hpp"
#include "files/json_files.hpp"
#include "files/schedule_files.hpp"
#include "options/choice.hpp"
#include "options/dialect_option.hpp"
#include "options/effects.hpp"
#include "options/limits.hpp"
#include "options/lowering_options.hpp"
#include "options/memory_cap.hpp"
#include "options/shape_options.hpp"
#include "report/bound_words.hpp"
#include "report/certificates.hpp"
#include "report/counted.hpp"
#include "report/hang_report.hpp"
#include "report/printed.hpp"
#include "report/terminal.hpp"
#include <ashlar/catalog/searched_entries.hpp>
#include <ashlar/interop/pytorch_comms.hpp>
#include <ashlar/interop/pytorch_csv.hpp>
#include <ashlar/interop/pytorch_lines.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/prove/prove.hpp>
#include <ashlar/render/diagnosis.hpp>
#include <ashlar/schedule/check.hpp>
#include <ashlar/schedule/metrics.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tool {

namespace {

enum class runner { any, pytorch, flight_recorder };

struct check_options {
  std::string file;
  std::vector<std::string> files;
  runner for_whom = runner::any;
  std::string schedule = {};  // that recorded ranks ran
  bool running = false;
  std::string dialect = "detect";
  ashlar::transfer_lanes lanes = ashlar::transfer_lanes::one;
  shape_options shape;
  std::string certificate = {};
};

int print_problems(std::string const& file, std::vector<ashlar::csv_problem> const& problems) {
  for (ashlar::csv_problem const& p : problems) fmt::print("{}: {}\n", file, printable(to_string(p)));
  fmt::print("{}: invalid\n", file);
  return invalid;
}

void must_be_small(std::string const& file, ashlar::csv_tokens const& tokens) {
  auto const lines = static_cast<long long>(tokens.lines.size());
  if (lines > most_devices)
    throw usage_error(fmt::format("'{}' has {} lines; the limit is {}", file, lines, most_devices));
  // A pass has up to three other tokens, which its memory counts.
  must_fit_in_memory(fmt::format("the tokens of '{}'", file),
                     static_cast<double>(std::max(tokens.count, (tokens.count + tokens.others) / 4)));
}

// A file that has lost all its backwards looks alike: say what it was taken for.
char const* purpose(ashlar::execution_mode mode) {
  return mode == ashlar::execution_mode::training ? "" : " for inference, which has forwards only";
}

// Reports why PyTorch cannot run a proved program: as a warning, or as the end.
int print_problems(check_options const& o, std::string const& obstacle) {
  if (obstacle.empty()) return done;
  if (o.for_whom != runner::pytorch) {
    fmt::print(stderr, "ashlar: warning: {}: PyTorch cannot run it: {}\n", o.file, obstacle);
    return done;
  }
  fmt::print("{0}: PyTorch cannot run it: {1}\n{0}: invalid\n", o.file, obstacle);
  return invalid;
}

// Tells with which of PyTorch's communicators a program gets stuck; `why` says why with given lanes.
template <class Why>
void report_communicators(std::string const& file, Why why) {
  for (ashlar::pytorch_communicators const& c : ashlar::all_pytorch_communicators) {
    std::string const stuck = why(c.lanes);
    fmt::print("{}: with {}: {}\n", file, c.name, stuck.empty() ? "safe" : "gets stuck: " + stuck);
  }
}

int check_comms(check_options const& o, ashlar::csv_tokens const& tokens,
                ashlar::csv_problems& problems) {
  using namespace ashlar;
  certificates proofs(o.certificate);
  must_be_small(o.file, tokens);
  csv_program const read = read_pytorch_comms(tokens, problems, o.lanes);
  bool const is_stuck = !read.problems.empty() && read.problems[0].broken == rule::no_cycle_of_waits;
  if (o.for_whom == runner::pytorch && (read.value || is_stuck))
    report_communicators(o.file, [&](transfer_lanes lanes) { return pytorch_deadlock(tokens, lanes); });
  if (!read.value) return print_problems(o.file, read.problems);
  program const& p = *read.value;
  if (int const code = print_problems(o, pytorch_obstacle(tokens, p)); code != done) return code;
  fmt::print("{}: valid{}: {}, {}, {}, {}, dialect {}\n", o.file, purpose(p.mode),
             counted(p.device_count(), "device"), counted(p.stage_count(), "stage"),
             counted(p.micro_batch_count(), "micro-batch"),
             counted(static_cast<long long>(tokens.count + tokens.others), "token"),
             name_of(read.dialect));
  fmt::print("{}: its program of {} is complete, ordered, deadlock-free and memory-safe\n", o.file,
             counted(static_cast<long long>(p.instructions.size()), "instruction"));
  proofs.add(p, o.file);
  return proofs.write();
}

void must_be_small(std::string const& file, ashlar::schedule const& s) {
  auto const passes = static_cast<double>(pass_count(s));
  if (s.device_count() > most_devices)
    throw usage_error(
        fmt::format("'{}' has {} devices; the limit is {}", file, s.device_count(), most_devices));
  must_fit_in_memory(fmt::format("the lines of '{}'", file), passes);
}

// Checks a schedule with its costs.
int check_schedule(check_options const& o, ashlar::schedule const& s, std::size_t idle_slots,
                   time_scale const& scale) {
  using namespace ashlar;
  certificates proofs(o.certificate);
  must_be_small(o.file, s);
  if (diagnosis const d = ashlar::check(s); !d.ok()) {
    fmt::print("{}: {}\n{}: invalid\n", o.file, explain(d, s), o.file);
    return invalid;
  }
  phase_line at;
  at.say("lowering it");
  program const lowered = lower(s, {.lanes = o.lanes});
  at.say("proving its program");
  diagnosis const d = ashlar::check(lowered);
  at.end();
  if (!d.ok()) {
    fmt::print("{}: {}\n{}: the schedule is valid, its program is not\n", o.file, explain(d, lowered),
               o.file);
    return invalid;
  }
  if (int const code = print_problems(o, pytorch_obstacle(lowered)); code != done) return code;
  if (o.for_whom == runner::pytorch)
    report_communicators(o.file, [&](transfer_lanes lanes) { return pytorch_deadlock(lowered, lanes); });
  fmt::print("{}: valid{}: {}, {}, {}, {}{}, makespan {}, {}\n", o.file, purpose(s.mode),
             counted(s.device_count(), "device"), counted(s.stage_count(), "stage"),
             counted(s.micro_batch_count(), "micro-batch"), counted(s.where.route_count(), "route"),
             idle_slots == 0 ? "" : ", " + counted(static_cast<long long>(idle_slots), "idle slot"),
             scale.unit.empty() ? scale.number(makespan(s)) : scale.words(makespan(s)),
             bound_words(makespan(s), ashlar::schedule_bound(s), scale));
  fmt::print("{}: its program of {} is complete, ordered, deadlock-free and memory-safe\n", o.file,
             counted(static_cast<long long>(lowered.instructions.size()), "instruction"));
  proofs.add(s, o.file, scale);
  proofs.add(lowered, o.file);
  return proofs.write();
}

// Effects of the options that say what is checked, on a file.
std::vector<effect> effects_on_file(std::string const& what, bool is_block, bool has_times,
                                    bool has_dialect) {
  std::vector<effect> all = effects_on(std::vector<ashlar::catalog::entry const*>(), what);
  all.push_back({"--dialect", has_dialect, "on " + what});
  all.push_back({"--devices", false, fmt::format("on {}: it has its own", what)});
  all.push_back({"--micro-batches", is_block, fmt::format("on {}: it has its own", what)});
  for (char const* flag : cost_flags())
    all.push_back({flag, has_times, fmt::format("on {}: it says what is done, not when", what)});
  return all;
}

int check_named(CLI::App const& command, check_options o) {
  must_have_effect(command, {{"--dialect", false, "on a schedule of the catalog"}});
  o.shape.name = o.file;
  chosen_schedule const chosen = choose(o.shape);
  return check_schedule(o, chosen.schedule, 0, chosen.scale);
}

// Checks the text of a file, which messages call `o.file`.
int check_words(CLI::App const& command, check_options o, std::string const& text) {
  using namespace ashlar;
  o.file = printable(o.file);
  if (holds_json(text)) {
    schedule_file const read = read_unchecked(text, o.file, o.shape.m, o.shape.cost);
    must_have_effect(command, effects_on_file("JSON", read.block.has_value(), true, false));
    must_have_effect(command, effects_on(traits_of({&read.schedule}), "JSON"));
    return check_schedule(o, read.schedule, 0, read.scale);
  }
  csv_options const options{.dialect = dialect_of(o.dialect)};
  csv_problems problems(options.most_problems);
  csv_tokens const tokens = read_csv_tokens(text, options, problems);
  if (!problems.none()) return print_problems(o.file, problems.take());
  if (tokens.others > 0) {
    must_have_effect(command, effects_on_file("a program", false, false, true));
    return check_comms(o, tokens, problems);
  }
  must_have_effect(command, effects_on_file("a CSV", false, true, true));
  csv_schedule read = read_pytorch_csv(tokens, problems);
  if (!read.value) return print_problems(o.file, read.problems);
  schedule_file file{{.schedule = std::move(*read.value)}, false};
  must_have_effect(command, effects_on(traits_of({&file.schedule}), "a CSV"));
  put_under(o.shape.cost, file);
  return check_schedule(o, file.schedule, tokens.idle_slots, file.scale);
}

// The program whose transfers the recorded ranks made.
ashlar::program recorded_program(check_options const& o) {
  shape_options shape = o.shape;
  shape.name = o.schedule;
  ashlar::schedule s;
  if (names_file(o.schedule)) {
    s = choose_file(o.schedule, o.shape.m, o.shape.cost).schedule;
  } else {
    s = choose(shape).schedule;
  }
  return ashlar::lower(s, {.lanes = o.lanes});
}

int check_records(CLI::App const& command, check_options const& o) {
  using namespace ashlar;
  char const* const where = "on records of a run";
  must_have_effect(
      command,
      {{"--dialect", false, where}, {"--certificate", false, where}, {"--lanes", false, where}});
  if (o.schedule.empty())
    must_have_effect(command, {{"--devices", false, "without --schedule"},
                               {"--micro-batches", false, "without --schedule"}});
  std::vector<rank_record> const ranks = read_flight_records(o.files);
  matched_record record = matched(ranks);
  hang why = find_hang(record);
  bool shares_lanes = false;
  // In a run that has stopped nothing is under way: see whether ranks with fewer lanes explain more.
  if (!o.running && !why.is_certain() && why.under_way > 0) {
    matched_record const together = matched(ranks, transfer_lanes::one);
    hang const other = find_hang(together);
    shares_lanes = other.kind != hang_kind::none && other.under_way < why.under_way;
    if (shares_lanes) {
      record = together;
      why = other;
    }
  }
  std::optional<recorded_passes> passes;
  if (!o.schedule.empty()) passes = passes_of(record, recorded_program(o));
  fmt::print("{}", text_of(why, record, passes ? &*passes : nullptr,
                           {.goes_on = o.running, .shares_lanes = shares_lanes}));
  if (passes && !passes->unknown.empty()) fmt::print("passes are not known: {}\n", passes->unknown);
  return why.kind == hang_kind::none || (o.running && !why.is_certain()) ? done : invalid;
}

int check(CLI::App const& command, check_options o) {
  if (o.for_whom == runner::flight_recorder) return check_records(command, o);
  must_have_effect(command, {{"--schedule", false, "without --for nccl-flight-recorder"},
                             {"--running", false, "without --for nccl-flight-recorder"}});
  if (o.files.size() > 1)
    throw usage_error(fmt::format(
        "'{}' is one file too many: only dumps of a flight recorder are several", o.files[1]));
  o.file = o.files[0];
  if (ashlar::catalog::find_any(o.file) != nullptr) return check_named(command, o);
  return check_words(command, o, read_text(o.file));
}

}  // namespace

int check_text(CLI::App const& command, std::string const& name, std::string const& text) {
  check_options o;
  o.file = name;
  return check_words(command, o, text);
}

void add_check(CLI::App& app, action& chosen) {
  auto* const command = app.add_subcommand("check", "Check a schedule and prove its program");
  auto const options = std::make_shared<check_options>();
  command
      ->add_option(
          "file", options->files,
          "CSV or JSON of a schedule, JSON of a building block, or a name from `ashlar "
          "list`; - is standard input. For nccl-flight-recorder: dumps, a file for each rank, or "
          "folders of them")
      ->required()
      ->type_name("FILE");
  add_choice<runner>(
      *command, "--for", options->for_whom,
      {{"pytorch", runner::pytorch}, {"nccl-flight-recorder", runner::flight_recorder}},
      "pytorch: what PyTorch cannot run is an error, not a warning; nccl-flight-recorder: why a run "
      "hangs, from the records of its ranks");
  command
      ->add_option("--schedule", options->schedule,
                   "the schedule of the recorded run, a file or a name: passes are then named")
      ->type_name("FILE|NAME");
  command->add_flag("--running", options->running,
                    "the recorded run goes on: what a rank has not issued yet is no fault");
  add_lanes_option(*command, options->lanes);
  add_dialect_option(*command, options->dialect);
  add_size_options(*command, options->shape);
  add_certificate_option(*command, options->certificate);
  command->footer(
      "The format: one line per device, the device's passes in order, separated by commas without "
      "blanks;\n"
      "a pass is stage, kind, micro-batch: 2F0. Kinds: F forward, I backward input, W backward weight,\n"
      "B fused backward, R recompute. (0F7;3B1)OVERLAP_F_B is a pair that shares its slot of time.\n"
      "A file with communication has all of it: 2SEND_F0, 3RECV_F0, 3SEND_B0, 2RECV_B0, and where its\n"
      "dialect has them 2UNSHARD, 2RESHARD, 2REDUCE_GRAD, 2WAIT_REDUCE_GRAD, 2WAIT_SEND_F0.\n"
      "In a file of passes only an empty cell is an idle slot, as PyTorch writes them.\n"
      "Dumps are what PyTorch's flight recorder writes, pickled or JSON; names end in the rank: "
      "rank_0,\n"
      "trace_1.json. A pickle is read as plain data, and nothing in it is run.");
  command->callback([&chosen, command, options] {
    chosen = [command, options] { return check(*command, *options); };
  });
}

}  // namespace tool
