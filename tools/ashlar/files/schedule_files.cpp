#include "files/schedule_files.hpp"

#include "command.hpp"
#include "files/files.hpp"
#include "files/json_files.hpp"
#include "options/durations.hpp"
#include "options/memory_cap.hpp"
#include "options/shared_costs.hpp"
#include <ashlar/block/algebra.hpp>
#include <ashlar/interop/pytorch_csv.hpp>
#include <ashlar/schedule/check.hpp>
#include <ashlar/schedule/repeat.hpp>
#include <ashlar/schedule/squeeze.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace tool {

namespace {

ashlar::schedule schedule_of_csv(std::string const& text, std::string const& path) {
  ashlar::csv_problems problems(1);
  ashlar::csv_tokens tokens = ashlar::read_csv_tokens(text, {.most_problems = 1}, problems);
  for (auto& line : tokens.lines)  // what is lowered again has transfers of its own
    line.erase(std::remove_if(line.begin(), line.end(),
                              [](ashlar::csv_token const& t) { return !t.computes(); }),
               line.end());
  tokens.others = 0;
  auto const refuse = [&](std::vector<ashlar::csv_problem> const& found) {
    throw usage_error(fmt::format("'{}': {}", path, to_string(found.at(0))));
  };
  if (!problems.none()) refuse(problems.take());
  must_fit_in_memory(fmt::format("the tokens of '{}'", path), static_cast<double>(tokens.count));
  ashlar::csv_schedule read = ashlar::read_pytorch_csv(tokens, problems);
  if (!read.value) refuse(read.problems);
  return std::move(*read.value);
}

}  // namespace

void put_under(cost_options const& cost, schedule_file& file) {
  ashlar::schedule& s = file.schedule;
  int const q = s.graph.sequence_chunks();
  ashlar::costs given;
  std::optional<shared_costs> shared;
  if (cost.are_given() || !file.has_costs)
    shared = share_costs(cost, s.device_count(), std::max(1, s.micro_batch_count() / q), s);
  if (shared) {
    given = std::move(shared->cost);
    file.scale = std::move(shared->scale);
    file.shares = std::move(shared->words);
  } else if (cost.are_given()) {
    must_leave_chunks_to_causal(cost, s.stage_count(), q);
    given = costs_of(cost, s.device_count(), s.micro_batch_count(), q);
    must_be_of_stages(cost, given, s.stage_count());
    file.scale = scale_of(cost, q);
    if (!cost.stages_from().empty()) split_by_sequence_chunk(given, s.stage_count(), q);
    if (int const stages = given.passes.stages();
        given.passes.sequence_chunks() == 1 && stages != 0 && stages != s.stage_count())
      throw usage_error(fmt::format("'{}' has costs of {} stages, but there are {} stages",
                                    cost.stages_from(), stages, s.stage_count()));
  } else if (!cost.causal.empty()) {
    if (s.cost.passes.sequence_chunks() != 1) throw usage_error(chunks_have_costs);
    ashlar::finer_costs each = with_causal_chunks(s.cost, q, causal_share_of(cost.causal));
    given = std::move(each.cost);
    file.scale.ticks_per_unit *= each.unit;
  } else {
    return;
  }
  s = retime(std::move(s), given);
}

schedule_file read_unchecked(std::string const& text, std::string const& path, long long micro_batches,
                             cost_options const& cost) {
  schedule_file out;
  if (!holds_json(text)) {
    out.schedule = schedule_of_csv(text, path);
    out.has_costs = false;
  } else {
    out = {ashlar::read_json_schedule(json_text_of(text, path))};
    if (!out.rounded.empty()) report_rounded(out.rounded);
    if (out.block) {
      int const group = out.block->micro_batch_count();
      if (micro_batches == 0) micro_batches = group;
      must_fit_in_memory(
          fmt::format("{} micro-batches of '{}'", micro_batches, path),
          static_cast<double>(micro_batches) * static_cast<double>(out.block->cells.size()));
      if (micro_batches % group != 0)
        throw usage_error(fmt::format("'{}' has {} micro-batches, of which {} is no multiple", path,
                                      group, micro_batches));
      out.schedule = *out.block | ashlar::repeat(ashlar::micro_batches{static_cast<int>(micro_batches)})
                     | ashlar::squeeze();
    }
  }
  put_under(cost, out);
  must_fit_in_memory(fmt::format("the schedule of '{}'", path), out.schedule);
  return out;
}

schedule_file read_schedule(std::string const& path, long long micro_batches, cost_options const& cost) {
  schedule_file out = read_unchecked(read_text(path), path, micro_batches, cost);
  if (ashlar::diagnosis const d = ashlar::check(out.schedule); !d.ok()) throw ashlar::violation{d};
  return out;
}

}  // namespace tool
