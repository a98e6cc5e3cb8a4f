// Checks that work is where its table puts it and reads only what is there. Schedules and programs share
// this check.
#pragma once

#include <ashlar/block/check.hpp>
#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/model/placement.hpp>
#include <ashlar/model/work.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

// The parts of work that have been entered, and when they end.
class work_register {
 public:
  // Refers to the work.
  constexpr explicit work_register(work_view const& work) : work_(work), entries_(work.parts.size()) {}

  // Enters a part that `where.device` has, on the lane that is for it.
  constexpr diagnosis enter(site const& where, bool is_collective, tick end) {
    if (!work_.knows(where.what) || work_.is_collective(where.what) != is_collective)
      return {.broken = rule::every_pass_is_known, .first = where};
    if (int const device = work_.part(part_of(where.what)).device; device != where.device)
      return {.broken = rule::pass_is_on_its_device,
              .first = where,
              .second = {.device = device, .what = where.what}};
    entry& e = of(part_of(where.what));
    if (e.present) return {.broken = rule::no_pass_is_doubled, .first = where};
    e = {true, end};
    return {};
  }

  // Checks that each part is there once (collectives follow by themselves), and that edges lead from and
  // to passes that are there, on the device of the work. `passes` is complete.
  constexpr diagnosis complete(stage_graph const& graph, placement const& where,
                               std::vector<int> const& route, pass_register const& passes,
                               bool collectives_follow) {
    for (int job = 0; job < work_.job_count(); ++job)
      for (int k = 0; k < work_.part_count(job); ++k) {
        part_id const what{job, k};
        if (of(what).present || (collectives_follow && work_.is_collective(what))) continue;
        return {.broken = rule::every_pass_is_present,
                .first = {.device = work_.part(what).device, .what = what}};
      }
    for (work_edge const& e : work_.into) {
      bool const reads_pass = e.from.kind != pass_kind::work;
      if (!reads_pass && e.to.kind == pass_kind::work) continue;
      pass const of_pipeline = reads_pass ? e.from : e.to, part = reads_pass ? e.to : e.from;
      int const device = work_.part(part_of(part)).device;
      diagnosis d{.first = {.device = device, .what = part}, .second = {.what = of_pipeline}};
      if (!graph.has(of_pipeline, static_cast<int>(route.size())) || !passes.has(of_pipeline)) {
        d = {.broken = rule::every_pass_is_known, .first = d.second, .second = d.first};
        return d;
      }
      d.second.device = where.device_of(nth(route, of_pipeline.micro_batch), of_pipeline.stage);
      pass const again{pass_kind::recompute, of_pipeline.stage, of_pipeline.micro_batch};
      bool const forgets = reads_pass && of_pipeline.kind == pass_kind::forward && passes.has(again);
      if (d.second.device == device && !forgets) continue;
      d.broken = rule::work_reads_what_its_device_keeps;
      return d;
    }
    return {};
  }

  // Checks a pass that starts at `start` against the ends of the work that it waits for, and work
  // against the passes that it waits for.
  constexpr diagnosis check_inputs(site const& where, tick start, pass_register const& passes) const {
    diagnosis found;
    for_each_work_input(work_, where.what, [&](pass from, tick delay) {
      bool const is_work = from.kind == pass_kind::work;
      tick const arrival = delay
                           + (is_work ? end_of(part_of(from))
                                      : passes(from.micro_batch, from.stage, result_of(from.kind)).end);
      if (arrival <= start || !found.ok()) return;
      site const producer{.device = is_work ? work_.part(part_of(from)).device : where.device,
                          .what = from};
      found = {.broken = rule::no_pass_starts_before_its_input,
               .first = where,
               .second = producer,
               .number = arrival - start};
    });
    return found;
  }

  // The end of a part that exists; 0 until it is entered.
  constexpr tick end_of(part_id part) const { return nth(entries_, work_.number(part)).end; }

 private:
  struct entry {
    bool present = false;
    tick end = 0;
  };
  constexpr entry& of(part_id part) { return nth(entries_, work_.number(part)); }

  work_view work_;
  dynamic_array<entry> entries_;
};

// The end of every pass, of the pipeline and of work.
struct pass_ends {
  // Empty. Refers to `parts`.
  constexpr pass_ends(int stage_count, int micro_batch_count, work_view const& parts)
      : passes(stage_count, micro_batch_count), work(parts) {}

  // The end of a pass that exists; 0 until it is entered.
  constexpr tick of(pass const& what) const {
    return what.kind == pass_kind::work ? work.end_of(part_of(what))
                                        : passes(what.micro_batch, what.stage, result_of(what.kind)).end;
  }

  pass_register passes;
  work_register work;
};

}  // namespace ashlar
