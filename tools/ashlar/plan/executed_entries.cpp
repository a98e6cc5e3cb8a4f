#include "plan/executed_entries.hpp"

#include "command.hpp"
#include <ashlar/catalog/searched_entries.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string_view>

namespace tool {

namespace {

using ashlar::catalog::entry;

// The entry with few passes; none where it has no such schedule, or would have to search.
std::optional<ashlar::schedule> small_schedule(entry const& e) {
  ashlar::catalog::shape const few{
      .p = ashlar::devices{2}, .m = ashlar::micro_batches{8}, .v = ashlar::chunks{2}};
  if (e.is_searched || !e.check(few).ok()) return {};
  return e.make(few);
}

// Whether its stages are consecutive layers of a model.
bool is_of_layers(entry const& e) {
  std::optional<ashlar::schedule> const s = small_schedule(e);
  return !s || is_chain(s->graph);
}

bool has_pairs(ashlar::schedule const& s) {
  for (auto const& order : s.order)
    for (ashlar::time_slot const& t : order)
      if (t.is_pair()) return true;
  return false;
}

}  // namespace

bool has_pairs(entry const& e) {
  std::optional<ashlar::schedule> const s = small_schedule(e);
  return s && has_pairs(*s);
}

ashlar::cost::schedule_traits traits_of(entry const& e) {
  std::optional<ashlar::schedule> const s = small_schedule(e);
  if (!s) return {};
  ashlar::cost::schedule_traits traits{.may_have_pairs = has_pairs(*s), .may_split = false};
  for (auto const& order : s->order)
    for (ashlar::timed_pass const t : ashlar::each_pass(order))
      traits.may_split = traits.may_split || t.what.kind == ashlar::pass_kind::backward_weight;
  return traits;
}

bool any_has_pairs(std::vector<entry const*> const& entries) {
  return std::any_of(entries.begin(), entries.end(), [](entry const* e) { return has_pairs(*e); });
}

std::vector<entry const*> executed_entries(std::string const& names, bool& has_1f1b, bool& interleaves) {
  has_1f1b = interleaves = names.empty();
  std::vector<entry const*> all;
  if (names.empty()) {
    for (entry const& each : ashlar::catalog::entries)
      if (std::string_view(each.name) != "1f1b" && std::string_view(each.name) != "depth-first"
          && is_of_layers(each))
        all.push_back(&each);
    return all;
  }
  for (std::string_view rest = names;;) {
    auto const comma = rest.find(',');
    std::string const name(rest.substr(0, comma));
    entry const* const e = ashlar::catalog::find_any(name);
    if (e == nullptr)
      throw usage_error(
          fmt::format("--schedules takes names that `ashlar list` has, not '{}'", name.substr(0, 64)));
    if (std::string_view(e->name) == "1f1b") {
      has_1f1b = true;
    } else if (std::string_view(e->name) == "depth-first") {
      interleaves = true;
    } else if (is_of_layers(*e)) {
      all.push_back(e);
    } else {
      throw usage_error(fmt::format(
          "--schedules: {} is not planned: its stages are not consecutive layers, but shards of one "
          "layer among them, or stages beside each other",
          e->name));
    }
    if (comma == std::string_view::npos) return all;
    rest.remove_prefix(comma + 1);
  }
}

}  // namespace tool
