// Definitions of pytorch_comms.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/interop/csv_names.hpp>
#include <ashlar/interop/csv_proof.hpp>
#include <ashlar/interop/csv_routes.hpp>
#include <ashlar/interop/pytorch_comms.hpp>
#include <ashlar/interop/pytorch_lines.hpp>
#include <ashlar/interop/pytorch_waits.hpp>
#include <ashlar/program/names.hpp>
#include <ashlar/prove/well_formed.hpp>

#include <cstddef>
#include <utility>

namespace ashlar {

ASHLAR_INLINE csv_program read_pytorch_comms(csv_tokens const& tokens, csv_problems& problems,
                                             transfer_lanes lanes) {
  csv_program out;
  out.dialect = tokens.dialect;
  if (csv_detail::numbers_are_plausible(tokens, problems))
    csv_detail::find_second_owners(tokens, problems);
  csv_routes found;
  if (problems.none()) found = find_csv_routes(tokens, problems);
  if (problems.none()) csv_detail::find_unknown_names(tokens, found.routes[0], problems);
  if (problems.none()) {
    placement where(devices{static_cast<int>(tokens.lines.size())}, {found.routes[0]});
    csv_streams streams = csv_program_writer(tokens, std::move(where), lanes).run();
    csv_proof(tokens, streams).run(problems);
    if (problems.none() && tokens.dialect == csv_dialect::waits)
      csv_detail::find_lost_waits(tokens, problems);
    if (problems.none()) out.value = std::move(streams.value);
  }
  out.problems = problems.take();
  return out;
}

ASHLAR_INLINE csv_program read_pytorch_comms(std::string_view text, csv_options const& options) {
  csv_problems problems(options.most_problems);
  csv_tokens const tokens = read_csv_tokens(text, options, problems);
  if (problems.none()) return read_pytorch_comms(tokens, problems, options.lanes);
  return {.value = {}, .problems = problems.take(), .dialect = options.dialect};
}

ASHLAR_INLINE std::string pytorch_obstacle(program const& p) {
  if (diagnosis const d = check_well_formed(p); !d.ok()) refuse(d);
  if (p.graph.sequence_chunks() > 1)
    return "its sequences come in chunks, and PyTorch treats micro-batches as independent of each other";
  if (p.graph.has_sizes())
    return "its stages take micro-batches of different sizes, and PyTorch has one size for all stages";
  if (p.graph != chain(stages{p.stage_count()}))
    return "its stages are not a chain, and PyTorch only hands over from each stage to the next";
  std::vector<bool> busy(static_cast<std::size_t>(p.device_count()), false);
  for (int stage = 0; stage < p.stage_count(); ++stage) {
    list_view<int> const owners = p.groups.holders(stage);
    if (owners.size() > 1)
      return "stage " + std::to_string(stage) + " is on devices " + std::to_string(owners[0]) + " and "
             + std::to_string(owners[1]) + ", and PyTorch knows one owner per stage";
    nth(busy, owners[0]) = true;
  }
  for (std::size_t d = 0; d < busy.size(); ++d)
    if (!busy[d]) return "device " + std::to_string(d) + " has no stage, and PyTorch needs one on each";
  if (p.groups.count() > p.stage_count())
    return "stages have parameters in common, and in PyTorch each stage has its own";
  int next = 0, forwards = 0, backwards = 0;
  std::vector<bool> scattered(static_cast<std::size_t>(p.stage_count()), false);
  for (instruction const& i : p.instructions) {
    bool const has_stage =
        i.code == opcode::reduce_scatter || (i.code == opcode::compute && i.what.kind < pass_kind::work);
    if (has_stage && (i.what.stage < 0 || i.what.stage >= p.stage_count()))
      refuse({.broken = rule::every_pass_is_known, .first = {.code = i.code, .what = i.what}});
    if (i.code == opcode::optimize || i.code == opcode::measure)
      return "it has the optimizer's step, and PyTorch leaves that to the training loop";
    if (copies_to_or_from_host(i))
      return "it copies what " + to_string(i.what)
             + " keeps to the host, and PyTorch has no action for that";
    if (i.code == opcode::reduce_scatter) {
      auto const stage = static_cast<std::size_t>(i.what.stage);
      if (scattered[stage])
        return "it scatters the gradient of stage " + std::to_string(i.what.stage)
               + " more than once, and PyTorch reduces it once";
      scattered[stage] = true;
    }
    if (i.code != opcode::compute) continue;
    if (i.what.kind == pass_kind::recompute || is_part(i.what))
      return "it has the pass " + to_string(i.what) + ", and PyTorch has no passes of this kind";
    forwards += i.what.kind == pass_kind::forward ? 1 : 0;
    backwards += gives_weight_gradient(i.what.kind) ? 1 : 0;
    if (i.what.kind != pass_kind::forward || i.what.stage + 1 != p.stage_count()) continue;
    if (i.what.micro_batch != next++)
      return "the last stage runs " + to_string(i.what) + " out of turn, and PyTorch looks its loss up "
             "by the number of the micro-batch";
  }
  if (forwards != backwards) return "it does not train, and PyTorch's runtime wants all backwards";
  return "";
}

ASHLAR_INLINE std::string pytorch_obstacle(csv_tokens const& tokens, program const& p) {
  if (std::string why = pytorch_obstacle(p); !why.empty()) return why;
  if (tokens.dialect == csv_dialect::waits)
    if (std::string why = pending_reductions(tokens); !why.empty()) return why;
  return pytorch_lines(tokens, p.lanes).run();
}

ASHLAR_INLINE std::string pytorch_deadlock(csv_tokens const& tokens, transfer_lanes lanes) {
  csv_problems problems(1);
  csv_program const read = read_pytorch_comms(tokens, problems, lanes);
  return read.value ? pytorch_lines(tokens, lanes).run() : to_string(read.problems.front());
}

ASHLAR_INLINE std::string pytorch_deadlock(program const& p, transfer_lanes lanes) {
  csv_problems problems(1);
  csv_tokens const tokens = read_csv_tokens(pytorch_comms_csv(p), {}, problems);
  return pytorch_deadlock(tokens, lanes);
}

ASHLAR_INLINE std::string pytorch_comms_csv(program const& p, csv_dialect dialect) {
  bool const waits = dialect == csv_dialect::waits || dialect == csv_dialect::detect;
  bool const reduces = waits || dialect == csv_dialect::reduce_grad;
  // A stage has one owner, so no other rank is left to sum its shards with.
  bool const sharded = p.sharding != sharding_level::none;
  send_waits const sends(p);
  std::string text;
  for (int d = 0; d < p.device_count(); ++d) {
    std::string line;
    bool in_pair = false;
    auto const write = [&](instruction const& i) {
      bool const sums = i.code == opcode::all_reduce || i.code == opcode::reduce_scatter;
      if (i.code == opcode::clear) return;  // PyTorch's training loop does it
      if (sums && (!reduces || (sharded && i.code == opcode::all_reduce))) return;
      std::string const token = csv_name(i.code, i.what, dialect);
      // PyTorch has pairs with whole backwards only; others are written one after the other.
      bool const opens = i.overlaps_next && (&i)[1].what.kind == pass_kind::backward;
      if (in_pair)
        line += ";" + token + ")OVERLAP_F_B";
      else
        line += (line.empty() ? "" : ",") + std::string(opens ? "(" : "") + token;
      in_pair = opens;
      if (waits && sums) line += "," + std::to_string(i.what.stage) + "WAIT_REDUCE_GRAD";
    };
    std::vector<send_waits::wait> const waited =
        waits ? sends.of_device(d) : std::vector<send_waits::wait>{};
    auto wait = waited.begin();
    for (int i = stream_begin(p, d); i < stream_end(p, d); ++i) {
      write(nth(p.instructions, i));
      for (; wait != waited.end() && wait->behind == i; ++wait) {
        pass const sent = nth(p.instructions, wait->send).what;
        line += "," + std::to_string(sent.stage)
                + (sent.kind == pass_kind::forward ? "WAIT_SEND_F" : "WAIT_SEND_B")
                + std::to_string(sent.micro_batch);
      }
    }
    text += line + '\n';
  }
  return text;
}

}  // namespace ashlar
