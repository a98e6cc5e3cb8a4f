// The schedules of the catalog at several sizes, for what must hold of every one of them.
#pragma once

#include <ashlar/catalog/entries.hpp>

#include <ostream>
#include <string_view>
#include <vector>

struct catalog_case {
  ashlar::catalog::entry const* entry;
  ashlar::catalog::shape shape;

  bool is(std::string_view name) const { return entry->name == name; }
  bool has_block() const { return entry->block_of != nullptr; }
  ashlar::block block() const { return entry->block_of(shape); }
  ashlar::schedule schedule() const { return entry->make(shape); }
};

// Needed for CAPTURE.
inline std::ostream& operator<<(std::ostream& out, catalog_case const& c) {
  return out << c.entry->name << ", p = " << c.shape.p.value << ", m = " << c.shape.m.value;
}

// Every entry that needs no search, at each of these sizes that it is for.
inline std::vector<catalog_case> catalog_cases(std::vector<int> const& devices,
                                               std::vector<int> const& micro_batches,
                                               ashlar::costs const& cost = {}) {
  std::vector<catalog_case> all;
  for (ashlar::catalog::entry const& e : ashlar::catalog::entries)
    for (int p : devices)
      for (int m : micro_batches) {
        ashlar::catalog::shape const shape{ashlar::devices{p}, ashlar::micro_batches{m}, cost};
        if (e.check(shape).ok()) all.push_back({&e, shape});
      }
  return all;
}
