// Tables by pass, of the pipeline and of work.
#pragma once

#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/model/dependencies.hpp>
#include <ashlar/model/work.hpp>

#include <cstddef>

namespace ashlar {

// One entry for each (micro-batch, stage, result), as a result_table, and one for each part of work.
template <class Entry>
class pass_table : result_table<Entry> {
 public:
  // Refers to the work. Entries are as Entry{} makes them, or `initial`.
  constexpr pass_table(int stage_count, int micro_batch_count, work_view const& work)
      : result_table<Entry>(stage_count, micro_batch_count), work_(work), parts_(work.parts.size()) {}
  constexpr pass_table(int stage_count, int micro_batch_count, work_view const& work, Entry initial)
      : result_table<Entry>(stage_count, micro_batch_count, initial),
        work_(work),
        parts_(work.parts.size(), initial) {}

  // The entry of a result that exists.
  using result_table<Entry>::at;
  // The entry of the result of a pass, of the pipeline or of work. The pass must exist.
  constexpr Entry& at(pass const& what) {
    if (what.kind == pass_kind::work) return nth(parts_, work_.number(part_of(what)));
    return at(what.micro_batch, what.stage, result_of(what.kind));
  }

 private:
  work_view work_;
  dynamic_array<Entry> parts_;
};

}  // namespace ashlar
