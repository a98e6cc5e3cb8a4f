// The catalog by placement and kind of backward, so that a file of test/static looks at a part of it.
// Every entry is of one family, new ones included.
#pragma once

#include <ashlar/catalog/entries.hpp>

#include <cstddef>
#include <string_view>
#include <utility>

// In the split ones no pass gives both gradients at once.
enum class family { chain, split_chain, looped, folded, split_folded, two_ways };

constexpr std::size_t number_of(std::string_view name) {
  return static_cast<std::size_t>(ashlar::catalog::find(name) - ashlar::catalog::entries.data());
}

template <std::size_t Entry>
constexpr ashlar::schedule made_for(ashlar::devices p, ashlar::micro_batches m) {
  ashlar::catalog::entry const entry =
      ashlar::catalog::entries[Entry];  // a copy: nvcc 13 cannot evaluate it in place
  return entry.make({.p = p, .m = m});
}

// The family of an entry, from a small shape that every entry is for: where its block is, or what it
// makes without one. `folded`: the stage that follows on the last device's first is on that device, as
// in a V.
template <std::size_t Entry>
constexpr family family_of = [] {
  ashlar::catalog::entry const entry = ashlar::catalog::entries[Entry];  // a copy, as above
  ashlar::catalog::shape small{.p = ashlar::devices{2}, .m = ashlar::micro_batches{4}};
  ashlar::placement where;
  bool is_split = true;
  auto const see = [&](ashlar::pass what) {
    is_split = is_split && what.kind != ashlar::pass_kind::backward;
  };
  if (entry.block_of != nullptr) {
    ashlar::block const one = entry.block_of(small);
    where = one.where;
    for (ashlar::cell const& c : one.cells) see(c.what);
  } else {
    ashlar::schedule const all = entry.make(small);
    where = all.where;
    for (auto const& order : all.order)
      for (ashlar::timed_pass const t : ashlar::each_pass(order)) see(t.what);
  }
  int const p = where.device_count();
  if (where.route_count() > 1) return family::two_ways;
  if (where.stage_count() == p || p == 1) return is_split ? family::split_chain : family::chain;
  if (where.device_of(0, p) != where.device_of(0, p - 1)) return family::looped;
  return is_split ? family::split_folded : family::folded;
}();

template <family Family, template <std::size_t> class Holds, std::size_t Entry>
constexpr bool holds_if_of = [] {
  if constexpr (family_of<Entry> == Family)
    return Holds<Entry>::value;
  else
    return true;
}();

// Whether `Holds<Entry>::value` for every entry of the family, and there is one.
template <family Family, template <std::size_t> class Holds, std::size_t... Entry>
constexpr bool holds_for_each_of(std::index_sequence<Entry...>) {
  return (... || (family_of<Entry> == Family)) && (... && holds_if_of<Family, Holds, Entry>);
}
template <family Family, template <std::size_t> class Holds>
constexpr bool holds_for_each =
    holds_for_each_of<Family, Holds>(std::make_index_sequence<ashlar::catalog::entries.size()>());
