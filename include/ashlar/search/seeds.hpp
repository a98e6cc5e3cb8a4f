// Published schedules for a placement that a search can begin with.
#pragma once

#include <ashlar/catalog/entry.hpp>

#include <vector>

namespace ashlar {

// A schedule of the catalog and its entry.
struct published_schedule {
  catalog::entry const* entry;
  schedule made;
};

// Whether entries that are searches themselves count.
enum class searched_entries : unsigned char { taken, left_out };

// Whether schedules with overlapped pairs are left out or alone count; these are not split.
enum class paired_entries : unsigned char { left_out, alone };

// Every schedule of the catalog on this very placement, with one route and, unless asked for, no
// overlapped pairs, made for these costs with each group size, number of rounds and waves that make
// sense; backwards are split. For m sequences in chunks, those that cut them so. O(passes) each, but for
// entries that are searches themselves. A search leaves those out: their starts are in the catalog by
// names of their own.
std::vector<published_schedule> published_on(placement const& where, micro_batches m, costs const& cost,
                                             int sequence_chunks = 1,
                                             searched_entries searched = searched_entries::taken,
                                             paired_entries paired = paired_entries::left_out);

// Runs one micro-batch (sequence) after the other, with split backwards, which holds least. On the first
// route.
schedule one_after_another(placement const& where, micro_batches m, costs const& cost,
                           int sequence_chunks = 1);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/search/seeds.ipp>
#endif
